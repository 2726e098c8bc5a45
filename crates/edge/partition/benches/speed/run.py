#!/usr/bin/env python3
"""Pages a second and CPU seconds per 1,000 pages of 26 KB, beside other crawlers.

Everything runs one after the other against the same local server, which is a process of its
own whose time is not counted. What is not installed is left out, and said. Figures are ratios
to the bare loop (hyper, lol_html, a hash set): trust those, not seconds of a busy machine.

A second table shows how throughput grows with hosts when each may be asked only every so
often: in proportion to them, until a core is full.

    cargo build --release -p tidewatch-cli
    pip install scrapy; npm install --prefix DIR @crawlee/cheerio
    python3 crates/edge/partition/benches/speed/run.py [--hosts 64] [--pages 300] [--repeat 3]
        [--spider] [--scrapy PYTHON] [--crawlee DIR] [--scale 4,16,64]
"""

import argparse
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[4]
PORT = 18099
# How often a host may be asked, and for how long it is, when throughput is to grow with hosts.
GAP, SCALE_SECONDS = "20ms", 10

SETTINGS = """
policy = "frontier-bfs"
[politeness]
allow_private = true
least_gap = "{gap}"
most_gap = "{gap}"
address_gap = "0s"
[hygiene]
probe_pages = 0
"""


def measure(command, cwd):
    """Wall seconds, CPU seconds and megabytes of a command, and what it printed."""
    began = time.monotonic()
    with open(os.path.join(cwd, "out"), "wb") as out:
        child = subprocess.Popen(command, cwd=cwd, stdout=out, stderr=subprocess.DEVNULL)
        _, status, used = os.wait4(child.pid, 0)
    wall = time.monotonic() - began
    if status != 0:
        raise RuntimeError(f"{command[0]} failed")
    text = open(os.path.join(cwd, "out")).read()
    return wall, used.ru_utime + used.ru_stime, used.ru_maxrss / 1024, text


def tidewatch(binary, hosts, until, cwd, gap="0s"):
    seeds = "".join(f"http://127.0.1.{host}:{PORT}/\n" for host in range(1, hosts + 1))
    pathlib.Path(cwd, "seeds").write_text(seeds)
    pathlib.Path(cwd, "crawl.toml").write_text(SETTINGS.format(gap=gap))
    command = [binary, "crawl", "seeds", "--dir", "crawl", "--config", "crawl.toml", "--budget",
               "1000000/s", "--scope", "everything", *until]
    wall, cpu, memory, _ = measure(command, cwd)
    status = json.loads(pathlib.Path(cwd, "crawl", "status.json").read_text())
    return wall, cpu, memory, sum(status["tally"]["fetches"].values())


def counted(command, cwd):
    wall, cpu, memory, text = measure(command, cwd)
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


def crawlers(args, ours, made):
    """What there is to run, by name; says what there is not."""
    size = [str(PORT), str(args.hosts)]
    pages = ["--max-pages", str(args.hosts * (args.pages + 1))]
    absent = "is not run: give {}"
    runs = {"bare loop": lambda cwd: counted([made / "bare", *size], cwd),
            "tidewatch": lambda cwd: tidewatch(ours, args.hosts, pages, cwd)}
    others = [
        ("spider", args.spider, "--spider, which takes minutes to build",
         lambda cwd: counted([made / "spider", *size], cwd)),
        ("wget2", shutil.which("wget2"), "a machine that has it", lambda cwd: wget2(args.hosts, cwd)),
        ("Scrapy", args.scrapy, "--scrapy a Python that has it",
         lambda cwd: counted([args.scrapy, HERE / "with_scrapy.py", *size], cwd)),
        ("Crawlee", args.crawlee, "--crawlee a folder with node_modules/@crawlee/cheerio",
         lambda cwd: crawlee(args.crawlee, size, cwd)),
    ]
    for name, is_there, needs, run in others:
        if is_there:
            runs[name] = run
        else:
            print(f"{name} {absent.format(needs)}", file=sys.stderr)
    return runs


def compare(runs, repeat):
    best = {}
    for name, run in [(name, run) for _ in range(repeat) for name, run in runs.items()]:
        # What takes twenty times as long tells nothing more the second time.
        if name in best and name in ("Scrapy", "Crawlee"):
            continue
        with tempfile.TemporaryDirectory() as cwd:
            wall, cpu, memory, pages = run(cwd)
        figures = (cpu / pages * 1000, pages / wall, memory, pages)
        best[name] = min(best.get(name, figures), figures)
        print(f"  {name}: {pages} pages, {wall:.1f} s, {cpu:.1f} CPU s", file=sys.stderr)
    bare = best["bare loop"]
    print(f"{'crawler':12} {'pages':>7} {'CPU s/1000':>11} {'x bare':>7} {'pages/s':>8} "
          f"{'x bare':>7} {'MB':>6}")
    for name, (cpu, rate, memory, pages) in sorted(best.items(), key=lambda row: row[1]):
        print(f"{name:12} {pages:7} {cpu:11.3f} {cpu / bare[0]:7.2f} {rate:8.0f} "
              f"{rate / bare[1]:7.2f} {memory:6.0f}")


def scale(ours, numbers):
    print(f"\ntidewatch, a host every {GAP} at most\n{'hosts':>6} {'pages/s':>8} {'cores':>6}")
    for hosts in numbers:
        with tempfile.TemporaryDirectory() as cwd:
            until = ["--for", f"{SCALE_SECONDS}s"]
            wall, cpu, _, pages = tidewatch(ours, hosts, until, cwd, GAP)
        print(f"{hosts:6} {pages / SCALE_SECONDS:8.0f} {cpu / wall:6.2f}")


def main():
    args = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    args.add_argument("--hosts", type=int, default=64)
    args.add_argument("--pages", type=int, default=300)
    args.add_argument("--repeat", type=int, default=3)
    args.add_argument("--spider", action="store_true", help="build and run the spider crate too")
    args.add_argument("--scrapy", metavar="PYTHON", help="a Python that has Scrapy")
    args.add_argument("--crawlee", metavar="DIR", help="a folder with @crawlee/cheerio")
    args.add_argument("--scale", metavar="HOSTS", default="4,16,64",
                      type=lambda text: [int(number) for number in text.split(",")])
    args.add_argument("--tidewatch", help="the built command")
    args = args.parse_args()
    target = pathlib.Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
    ours = args.tidewatch or str(target / "release" / "tidewatch")
    build = target / "speed"
    features = ["--features", "spider"] if args.spider else []
    subprocess.run(["cargo", "build", "--release", "--target-dir", build, *features], cwd=HERE,
                   check=True)
    made = build / "release"
    most = max([args.hosts, *args.scale])
    server = subprocess.Popen([made / "serve", str(PORT), str(most), str(args.pages)],
                              stdout=subprocess.PIPE)
    server.stdout.readline()
    try:
        compare(crawlers(args, ours, made), args.repeat)
        scale(ours, args.scale)
    finally:
        server.kill()


if __name__ == "__main__":
    main()
