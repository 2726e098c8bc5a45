#!/usr/bin/env python3
"""Pages a second and CPU seconds per 1,000 pages of 26 KB, beside other crawlers.

Everything runs one after the other against the same local server, which is a process of its
own whose time is not counted. What is not installed is left out. Figures are ratios to the
bare loop (hyper, lol_html, a hash set): trust those, not seconds of a busy machine.

    cargo build --release -p tidewatch-cli
    python3 crates/crawler/benches/speed/run.py [--hosts 64] [--pages 300] [--spider]
        [--scrapy PYTHON] [--repeat 3]
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
ROOT = HERE.parents[3]
PORT = 18099

SCRAPY = """
import scrapy, sys
from scrapy.crawler import CrawlerProcess
port, hosts = int(sys.argv[1]), int(sys.argv[2])
class Spider(scrapy.Spider):
    name = "speed"
    start_urls = [f"http://127.0.1.{host}:{port}/" for host in range(1, hosts + 1)]
    count = 0
    def parse(self, response):
        Spider.count += 1
        for href in response.css("a::attr(href)").getall():
            yield response.follow(href, self.parse)
process = CrawlerProcess({"LOG_ENABLED": False, "ROBOTSTXT_OBEY": True,
    "CONCURRENT_REQUESTS": 64, "CONCURRENT_REQUESTS_PER_DOMAIN": 1, "DOWNLOAD_DELAY": 0})
process.crawl(Spider)
process.start()
print(Spider.count)
"""

SETTINGS = """
policy = "frontier-bfs"
[politeness]
allow_private = true
least_gap = "0s"
most_gap = "0s"
address_gap = "0s"
[hygiene]
probe_pages = 0
"""


def measure(command, cwd):
    """Wall and CPU seconds of a command, and what it printed."""
    began = time.monotonic()
    with open(os.path.join(cwd, "out"), "wb") as out:
        child = subprocess.Popen(command, cwd=cwd, stdout=out, stderr=subprocess.DEVNULL)
        _, _, used = os.wait4(child.pid, 0)
    wall = time.monotonic() - began
    text = open(os.path.join(cwd, "out")).read()
    return wall, used.ru_utime + used.ru_stime, used.ru_maxrss / 1024, text


def tidewatch(binary, hosts, pages, cwd):
    seeds = "".join(f"http://127.0.1.{host}:{PORT}/\n" for host in range(1, hosts + 1))
    pathlib.Path(cwd, "seeds").write_text(seeds)
    pathlib.Path(cwd, "crawl.toml").write_text(SETTINGS)
    command = [binary, "crawl", "seeds", "--dir", "crawl", "--config", "crawl.toml", "--budget",
               "1000000/s", "--max-pages", str(hosts * (pages + 1))]
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


def main():
    args = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    args.add_argument("--hosts", type=int, default=64)
    args.add_argument("--pages", type=int, default=300)
    args.add_argument("--repeat", type=int, default=3)
    args.add_argument("--spider", action="store_true", help="build and run the spider crate too")
    args.add_argument("--scrapy", metavar="PYTHON", help="a Python that has Scrapy")
    args.add_argument("--tidewatch", help="the built command")
    args = args.parse_args()
    target = pathlib.Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
    ours = args.tidewatch or str(target / "release" / "tidewatch")
    build = target / "speed"
    features = ["--features", "spider"] if args.spider else []
    subprocess.run(["cargo", "build", "--release", "--target-dir", build, *features], cwd=HERE,
                   check=True)
    made = build / "release"
    server = subprocess.Popen([made / "serve", str(PORT), str(args.hosts), str(args.pages)],
                              stdout=subprocess.PIPE)
    server.stdout.readline()
    size = [str(PORT), str(args.hosts)]
    runs = {"bare loop": lambda cwd: counted([made / "bare", *size], cwd),
            "tidewatch": lambda cwd: tidewatch(ours, args.hosts, args.pages, cwd)}
    if args.spider:
        runs["spider"] = lambda cwd: counted([made / "spider", *size], cwd)
    if shutil.which("wget2"):
        runs["wget2"] = lambda cwd: wget2(args.hosts, cwd)
    if args.scrapy:
        runs["Scrapy"] = lambda cwd: counted([args.scrapy, "-c", SCRAPY, *size], cwd)
    best = {}
    try:
        for _ in range(args.repeat):
            for name, run in runs.items():
                with tempfile.TemporaryDirectory() as cwd:
                    wall, cpu, memory, pages = run(cwd)
                figures = (cpu / pages * 1000, pages / wall, memory, pages)
                best[name] = min(best.get(name, figures), figures)
                print(f"  {name}: {pages} pages, {wall:.1f} s, {cpu:.1f} CPU s", file=sys.stderr)
    finally:
        server.kill()
    bare = best["bare loop"]
    print(f"{'crawler':12} {'pages':>7} {'CPU s/1000':>11} {'x bare':>7} {'pages/s':>8} "
          f"{'x bare':>7} {'MB':>6}")
    for name, (cpu, rate, memory, pages) in sorted(best.items(), key=lambda row: row[1]):
        print(f"{name:12} {pages:7} {cpu:11.3f} {cpu / bare[0]:7.2f} {rate:8.0f} "
              f"{rate / bare[1]:7.2f} {memory:6.0f}")


if __name__ == "__main__":
    main()
