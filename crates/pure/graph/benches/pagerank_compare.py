"""One PageRank iteration on one core: this crate beside scikit-network, networkit and igraph.

    python pagerank_compare.py BASENAME path/to/pagerank_speed

BASENAME.adj.gz holds the links for Python (line k: successors of node k, the first absolute,
then differences), BASENAME.graph and .properties the same for the example `pagerank_speed`.
All run on one thread, in turn, several rounds each; processor time of the fastest round counts.
igraph solves by another algorithm, which has no comparable iteration: the whole solution to
1e-10 is compared instead. Needs numpy, scipy, scikit-network, networkit, igraph.
"""
import gzip
import json
import os
import subprocess
import sys
import time

for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "RAYON_NUM_THREADS"):
    os.environ[name] = "1"

import igraph
import networkit
import numpy as np
import scipy.sparse as sparse
from sknetwork.ranking import PageRank

ROUNDS, STEPS, ALPHA = 5, 50, 0.85


def read(path):
    sources, targets = [], []
    with gzip.open(path, "rt") as lines:
        nodes = 0
        for node, line in enumerate(lines):
            successors = np.cumsum(np.array(line.split(), dtype=np.int64))
            successors = successors[successors != node]
            sources.append(np.full(len(successors), node))
            targets.append(successors)
            nodes = node + 1
    return nodes, np.concatenate(sources), np.concatenate(targets)


def fastest(work):
    best = float("inf")
    for _ in range(ROUNDS):
        began = time.process_time()
        work()
        best = min(best, time.process_time() - began)
    return best


def main():
    basename, ours = sys.argv[1:3]
    nodes, sources, targets = read(basename + ".adj.gz")
    links = len(sources)
    matrix = sparse.csr_matrix((np.ones(links), (sources, targets)), shape=(nodes, nodes))
    per_link = {}
    run = subprocess.run([ours, basename, str(STEPS)], capture_output=True, text=True, check=True)
    found = json.loads(run.stdout)
    per_link["tidewatch"] = found["pagerank_ns_per_link"]
    # Two lengths: their difference is steps alone, without preparing the matrix.
    rank = lambda n: fastest(lambda: PageRank(ALPHA, solver="piteration", n_iter=n, tol=0).fit(matrix))
    per_link["scikit-network"] = 1e9 * (rank(2 * STEPS) - rank(STEPS)) / STEPS / links
    # The product alone, the least that any solver on scipy can cost.
    transposed = sparse.csr_matrix(matrix.T)
    x = np.full(nodes, 1 / nodes)
    per_link["scipy product alone"] = 1e9 * fastest(lambda: [transposed @ x for _ in range(STEPS)]) / STEPS / links
    networkit.setNumberOfThreads(1)
    graph = networkit.graph.Graph(nodes, directed=True)
    graph.addEdges((sources, targets)) if hasattr(graph, "addEdges") else [
        graph.addEdge(u, v) for u, v in zip(sources, targets)]

    def walk(steps):
        rank = networkit.centrality.PageRank(graph, ALPHA, 0.0)
        rank.maxIterations = steps
        rank.run()
        return rank.numberOfIterations()

    made = [walk(STEPS), walk(2 * STEPS)]
    times = [fastest(lambda: walk(STEPS)), fastest(lambda: walk(2 * STEPS))]
    per_link["networkit"] = 1e9 * (times[1] - times[0]) / (made[1] - made[0]) / links
    other = igraph.Graph(n=nodes, edges=np.column_stack([sources, targets]), directed=True)
    solve = fastest(lambda: other.pagerank(damping=ALPHA, implementation="prpack"))
    best = min(v for k, v in per_link.items() if k not in ("tidewatch", "scipy product alone"))
    print(f"{nodes} nodes, {links} links, one thread")
    for name, ns in sorted(per_link.items(), key=lambda item: item[1]):
        print(f"{name:22} {ns:8.3f} ns a link and step {1e3 / ns:9.1f} M links/s")
    print(f"fastest other / ours: {best / per_link['tidewatch']:.2f}")
    print(f"whole solution: igraph {solve:.3f} s, ours to 1e-10 {found['solve_1e-10_s']:.3f} s")
    print("ours:", json.dumps(found))


main()
