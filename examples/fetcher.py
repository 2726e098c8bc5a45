#!/usr/bin/env python3
"""A polite crawler in 60 lines: `tidewatch frontier` decides what is fetched, and when.

    pip install grpcio grpcio-tools
    python -m grpc_tools.protoc -I crates/run/urlfrontier/proto --python_out=. --grpc_python_out=. urlfrontier.proto
    tidewatch frontier --dir urls --policy price --budget 2/s
    python examples/fetcher.py 127.0.0.1:7071 https://example.org/
"""

import hashlib
import re
import sys
import time
import urllib.error
import urllib.parse
import urllib.request
import urllib.robotparser

import grpc
import urlfrontier_pb2 as pb
import urlfrontier_pb2_grpc as stubs

AGENT, DAY, LARGEST = "tidewatch-example", 86_400, 1 << 20
frontier = stubs.URLFrontierStub(grpc.insecure_channel(sys.argv[1]))
seeds, robots = sys.argv[2:], {}
hosts = {urllib.parse.urlsplit(seed).netloc for seed in seeds}


def discovered(urls):
    list(frontier.PutDiscovered(iter([pb.DiscoveredBatch(items=[pb.URLInfo(url=u) for u in urls])])))


def allowed(info):
    """Read the host's robots.txt once, and hand its delay to the frontier."""
    root = urllib.parse.urljoin(info.url, "/")
    if root not in robots:
        rules = robots[root] = urllib.robotparser.RobotFileParser(root + "robots.txt")
        rules.read()
        delay = int(float(rules.crawl_delay(AGENT) or 1))
        frontier.SetDelay(pb.QueueDelayParams(key=info.key, delay_requestable=delay))
    return robots[root].can_fetch(AGENT, info.url)


def fetch(url):
    """The status of the answer and its text."""
    try:
        request = urllib.request.Request(url, headers={"User-Agent": AGENT})
        with urllib.request.urlopen(request, timeout=20) as answer:
            return answer.status, answer.read(LARGEST).decode("utf-8", "replace")
    except urllib.error.HTTPError as error:
        return error.code, ""
    except (OSError, ValueError):
        return 599, ""


discovered(seeds)
while True:
    for info in frontier.GetURLs(pb.GetParams(max_queues=10, max_urls_per_queue=1, delay_requestable=60)):
        status, text = fetch(info.url) if allowed(info) else (403, "")
        links = {urllib.parse.urljoin(info.url, link) for link in re.findall(r'href="([^"#]+)', text)}
        links = [link for link in links if urllib.parse.urlsplit(link).netloc in hosts]
        discovered(links)
        for key, value in {"status": str(status), "digest": hashlib.sha256(text.encode()).hexdigest()}.items():
            info.metadata[f"tidewatch.{key}"].values[:] = [value]
        again = 0 if status in (403, 404, 410) else int(time.time()) + DAY
        item = pb.KnownURLItem(info=info, refetchable_from_date=again)
        list(frontier.PutURLs(iter([pb.URLItem(known=item)])))
        print(status, info.url, len(links))
    time.sleep(1)
