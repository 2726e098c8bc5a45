//! The crawl of the Italian CNR domain, published by the Laboratory for Web Algorithmics `[BV04]`.

use tidewatch_graph::walk::{ALPHA, ImpactWalk, Stop, pagerank};
use tidewatch_graph::{Csr, Graph, bv};
use tidewatch_testing::suites::data;

/// Self-loops that the file holds and we drop: known from the decoded lists beside it.
const SELF_LOOPS: u64 = 87_442;

fn cnr() -> Option<(Csr, Vec<u8>)> {
    let properties = std::fs::read_to_string(data("web_graphs/cnr-2000.properties")?).unwrap();
    let graph = std::fs::read(data("web_graphs/cnr-2000.graph")?).unwrap();
    let properties = bv::Properties::parse(&properties).unwrap();
    Some((bv::read(&properties, &graph, bv::Limits::default()).unwrap(), graph))
}

#[test]
fn it_is_read_and_written_as_compactly_as_by_its_makers() {
    let Some((graph, file)) = cnr() else { return };
    assert_eq!(graph.len(), 325_557);
    assert_eq!(graph.links() + SELF_LOOPS, 3_216_152);
    let written = bv::write(&graph);
    let properties = bv::Properties::parse(&written.properties).unwrap();
    let again = bv::read(&properties, &written.graph, bv::Limits::default()).unwrap();
    assert_eq!(again, graph);
    let per_link = written.bits as f64 / graph.links() as f64;
    eprintln!("bits per link: {per_link:.3}, theirs 2.897 with self-loops ({} bytes)", file.len());
    // The same window, codes and choice of references; self-loops are cheap, so without
    // them a link costs a little more.
    assert!(per_link < 2.897 * 1.03, "{per_link}");
}

#[test]
fn pagerank_is_a_fixed_point_of_another_formulation() {
    let Some((graph, _)) = cnr() else { return };
    let graph = Graph::from(graph);
    let found = pagerank(&graph, ALPHA, Stop::EXACT, &[]).unwrap();
    eprintln!("{} steps, residual {:e}, error {:e}", found.steps, found.residual, found.error);
    // Push instead of pull: every node deals out its score along its links, in another order of
    // additions. At the fixed point this returns what it was given.
    let n = graph.len() as f64;
    let mut next = vec![0.0; graph.len()];
    let mut loose = 0.0;
    for node in 0..graph.len() as u32 {
        let (x, links) = (found.values[node as usize], graph.out.of(node));
        links.iter().for_each(|&to| next[to as usize] += x / links.len() as f64);
        loose += if links.is_empty() { x } else { 0.0 };
    }
    let pushed = next.iter().map(|y| (1.0 - ALPHA) / n + ALPHA * (y + loose / n));
    let apart: f64 = pushed.zip(&found.values).map(|(a, b)| (a - b).abs()).sum();
    assert!(apart / (1.0 - ALPHA) < 1e-9, "{apart}");
}

#[test]
fn the_enriched_walk_converges_on_it() {
    let Some((graph, _)) = cnr() else { return };
    let graph = Graph::from(graph);
    // Any impact will do: every hundredth page is clicked.
    let impact: Vec<f64> =
        (0..graph.len()).map(|i| if i % 100 == 0 { 10.0 } else { 0.0 }).collect();
    let walk = ImpactWalk { omega: 0.5, ..ImpactWalk::new(&graph, &impact) };
    let found = walk.solve(Stop::EXACT, &[]).unwrap();
    eprintln!("{} steps, residual {:e}", found.steps, found.residual);
    assert!(found.error < 1e-12 && found.values.iter().all(|&x| x > 0.0));
}
