#!/usr/bin/env python3
"""Cost of a page beside a bare fetch-and-parse loop, other crawlers and other builds of Tidewatch.

Everything runs one after the other, in turns, against the same local server, which is a process of
its own whose time is not counted. The table has one row for each leg and binary, with medians over
the rounds. Trust ratios to the bare loop (hyper, lol_html, a hash set), not seconds of a busy machine.

Legs of Tidewatch, by --legs:
    bfs     policy frontier-bfs, which only orders
    price   the default policy
    index   price, with the search index
    two     bfs on two partitions
    rest    bfs with the default rest of 4 h between visits: every page comes exactly once
    tls     price over TLS, a full handshake for each page; beside a bare loop that does the same
All but rest have no rest between visits.

Several builds are compared by naming them, as --tidewatch [NAME=]PATH, once for each.

--scale shows how throughput grows with hosts when each may be asked only every so often.

    cargo build --release -p tidewatch-cli
    pip install scrapy; npm install --prefix DIR @crawlee/cheerio
    python3 crates/edge/partition/benches/speed/run.py [--hosts 64] [--pages 300] [--repeat 3]
        [--legs bfs,price] [--tidewatch old=PATH --tidewatch new=PATH] [--kilobytes 26]
        [--spider] [--scrapy PYTHON] [--crawlee DIR] [--scale 4,16,64]
"""

import argparse
import json
import os
import pathlib
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[4]
PORT = 18099
# How often a host may be asked, and for how long it is, when throughput is to grow with hosts.
GAP, SCALE_SECONDS = "20ms", 10
# Once is enough for what takes twenty times as long.
SLOW = ("Scrapy", "Crawlee")

SETTINGS = """
policy = "{policy}"
[politeness]
allow_private = true
least_gap = "{gap}"
most_gap = "{gap}"
address_gap = "0s"
[hygiene]
probe_pages = 0
"""

# Policy, whether pages rest, and options.
LEGS = {
    "bfs": ("frontier-bfs", False, []),
    "price": ("price", False, []),
    "index": ("price", False, ["--listen", "127.0.0.1:0"]),
    "two": ("frontier-bfs", False, ["--partitions", "2"]),
    "rest": ("frontier-bfs", True, []),
    "tls": ("price", False, []),
}


def measure(command, cwd, **environment):
    """Wall seconds, CPU seconds and megabytes of a command, and what it printed."""
    began = time.monotonic()
    with open(os.path.join(cwd, "out"), "wb") as out, open(os.path.join(cwd, "err"), "wb") as err:
        child = subprocess.Popen(command, cwd=cwd, stdout=out, stderr=err,
                                 env={**os.environ, **environment})
        _, status, used = os.wait4(child.pid, 0)
    wall = time.monotonic() - began
    if status != 0:
        said = pathlib.Path(cwd, "err").read_text(errors="replace")[-2000:]
        raise RuntimeError(f"{command[0]} failed: {said}")
    text = open(os.path.join(cwd, "out")).read()
    return wall, used.ru_utime + used.ru_stime, used.ru_maxrss / 1024, text


def options_of(binary):
    """The options that a build of Tidewatch knows: older ones lack some."""
    return subprocess.run([binary, "crawl", "--help"], capture_output=True, text=True).stdout


def tidewatch(binary, leg, hosts, until, cwd, gap="0s", roots=""):
    policy, rests, options = LEGS[leg]
    scheme, port = ("https", PORT + 1) if leg == "tls" else ("http", PORT)
    seeds = "".join(f"{scheme}://127.0.1.{host}:{port}/\n" for host in range(1, hosts + 1))
    settings = SETTINGS.format(policy=policy, gap=gap)
    if leg == "tls":
        settings += f'[network]\nroots_file = "{roots}"\n'
    pathlib.Path(cwd, "seeds").write_text(seeds)
    pathlib.Path(cwd, "crawl.toml").write_text(settings)
    command = [binary, "crawl", "seeds", "--dir", "crawl", "--config", "crawl.toml", "--budget",
               "1000000/s", *until, *options]
    known = options_of(binary)
    if "--scope" in known:
        command += ["--scope", "everything"]
    if "--min-revisit" in known and not rests:
        command += ["--min-revisit", "0s"]
    wall, cpu, memory, _ = measure(command, cwd)
    # One file, or one for each partition.
    files = pathlib.Path(cwd, "crawl").rglob("status.json")
    tallies = [json.loads(file.read_text())["tally"] for file in files]
    return wall, cpu, memory, sum(sum(tally["fetches"].values()) for tally in tallies)


def counted(command, cwd, **environment):
    wall, cpu, memory, text = measure(command, cwd, **environment)
    return wall, cpu, memory, int(text.split()[-1])


def wget2(hosts, cwd):
    urls = [f"http://127.0.1.{host}:{PORT}/" for host in range(1, hosts + 1)]
    command = ["wget2", "-q", "--recursive", "--level=inf", "--max-threads=32", *urls]
    wall, cpu, memory, _ = measure(command, cwd)
    found = sum(len(files) for folder, _, files in os.walk(cwd) if "127.0.1." in folder)
    return wall, cpu, memory, found


def crawlee(folder, size, cwd):
    os.symlink(pathlib.Path(folder, "node_modules").resolve(), pathlib.Path(cwd, "node_modules"))
    shutil.copy(HERE / "with_crawlee.mjs", cwd)
    return counted(["node", "with_crawlee.mjs", *size], cwd)


def bare(made, port, hosts, **environment):
    return lambda cwd: counted([made / "bare", str(port), str(hosts)], cwd, **environment)


def own_runs(args, made, roots):
    """The bare loops and Tidewatch, by name."""
    runs = {"bare loop": bare(made, PORT, args.hosts)}
    if "tls" in args.legs:
        runs["bare loop, TLS"] = bare(made, PORT + 1, args.hosts, ROOTS=roots)
    until = ["--max-pages", str(args.hosts * (args.pages + 1))]
    for leg in args.legs:
        for name, binary in args.tidewatch:
            label = f"{name}, {leg}" if name else f"tidewatch, {leg}"
            runs[label] = (lambda cwd, leg=leg, binary=binary:
                           tidewatch(binary, leg, args.hosts, until, cwd, roots=roots))
    return runs


def other_runs(args, made):
    """Other crawlers, by name; says which are not there."""
    size = [str(PORT), str(args.hosts)]
    others = [
        ("spider", args.spider, "--spider, which takes minutes to build",
         lambda cwd: counted([made / "spider", *size], cwd)),
        ("wget2", shutil.which("wget2"), "a machine that has it", lambda cwd: wget2(args.hosts, cwd)),
        ("Scrapy", args.scrapy, "--scrapy a Python that has it",
         lambda cwd: counted([args.scrapy, HERE / "with_scrapy.py", *size], cwd)),
        ("Crawlee", args.crawlee, "--crawlee a folder with node_modules/@crawlee/cheerio",
         lambda cwd: crawlee(args.crawlee, size, cwd)),
    ]
    for name, is_there, needs, _ in others:
        if not is_there:
            print(f"{name} is not run: give {needs}", file=sys.stderr)
    return {name: run for name, is_there, _, run in others if is_there}


def compare(runs, repeat):
    rounds = {name: [] for name in runs}
    for name, run in [(name, run) for _ in range(repeat) for name, run in runs.items()]:
        if rounds[name] and name in SLOW:
            continue
        with tempfile.TemporaryDirectory() as cwd:
            wall, cpu, memory, pages = run(cwd)
        rounds[name].append((cpu / pages * 1000, pages / wall, memory, pages))
        print(f"  {name}: {pages} pages, {wall:.1f} s, {cpu:.1f} CPU s", file=sys.stderr)
    rows = {name: [statistics.median(column) for column in zip(*figures)]
            for name, figures in rounds.items()}
    print(f"{'crawler':26} {'pages':>7} {'CPU s/1000':>11} {'x bare':>7} {'pages/s':>8} "
          f"{'x bare':>7} {'MB':>6}")
    for name, (cpu, rate, memory, pages) in rows.items():
        over = rows["bare loop, TLS" if name.endswith(("tls", "TLS")) else "bare loop"]
        print(f"{name:26} {pages:7.0f} {cpu:11.3f} {cpu / over[0]:7.2f} {rate:8.0f} "
              f"{rate / over[1]:7.2f} {memory:6.0f}")


def scale(binary, numbers):
    print(f"\ntidewatch, a host every {GAP} at most\n{'hosts':>6} {'pages/s':>8} {'cores':>6}")
    for hosts in numbers:
        with tempfile.TemporaryDirectory() as cwd:
            until = ["--for", f"{SCALE_SECONDS}s"]
            wall, cpu, _, pages = tidewatch(binary, "bfs", hosts, until, cwd, GAP)
        print(f"{hosts:6} {pages / SCALE_SECONDS:8.0f} {cpu / wall:6.2f}")


def named_binary(text):
    name, _, path = text.rpartition("=")
    return name, str(pathlib.Path(path).resolve())


def listed(kind):
    return lambda text: [kind(part) for part in text.split(",") if part]


def leg(name):
    if name not in LEGS:
        raise argparse.ArgumentTypeError(f"there is no leg {name}; there are {', '.join(LEGS)}")
    return name


def arguments(target):
    args = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    args.add_argument("--hosts", type=int, default=64)
    args.add_argument("--pages", type=int, default=300)
    args.add_argument("--kilobytes", type=int, default=26, help="size of a page")
    args.add_argument("--repeat", type=int, default=3)
    args.add_argument("--legs", type=listed(leg), default=["bfs", "price", "index", "tls"])
    args.add_argument("--tidewatch", metavar="[NAME=]PATH", type=named_binary, action="append",
                      help="a built command, or several to compare")
    args.add_argument("--spider", action="store_true", help="build and run the spider crate too")
    args.add_argument("--scrapy", metavar="PYTHON", help="a Python that has Scrapy")
    args.add_argument("--crawlee", metavar="DIR", help="a folder with @crawlee/cheerio")
    args.add_argument("--scale", metavar="HOSTS", type=listed(int), default=[])
    args.add_argument("--built", metavar="DIR", type=pathlib.Path, help="built bare and serve")
    args = args.parse_args()
    args.tidewatch = args.tidewatch or [("", str(target / "release" / "tidewatch"))]
    return args


def main():
    target = pathlib.Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
    args = arguments(target)
    made = args.built or target / "speed" / "release"
    if not args.built:
        features = ["--features", "spider"] if args.spider else []
        subprocess.run(["cargo", "build", "--release", "--target-dir", target / "speed", *features],
                       cwd=HERE, check=True)
    most = max([args.hosts, *args.scale])
    with tempfile.TemporaryDirectory() as cwd:
        roots = os.path.join(cwd, "roots.pem")
        server = subprocess.Popen(
            [made / "serve", *map(str, (PORT, most, args.pages, args.kilobytes * 1000))],
            stdout=subprocess.PIPE, cwd=cwd)
        server.stdout.readline()
        try:
            compare({**own_runs(args, made, roots), **other_runs(args, made)}, args.repeat)
            if args.scale:
                scale(args.tidewatch[0][1], args.scale)
        finally:
            server.kill()


if __name__ == "__main__":
    main()
