#!/usr/bin/env python3
"""A polite crawler in some 60 lines of code: `tidewatch frontier` decides what is fetched, and when.

    pip install grpcio grpcio-tools
    python -m grpc_tools.protoc -I crates/run/urlfrontier/proto --python_out=. --grpc_python_out=. urlfrontier.proto
    tidewatch frontier --dir urls --policy price --budget 2/s
    python examples/fetcher.py 127.0.0.1:7071 https://example.org/
"""

import hashlib
import html
import http.client
import re
import sys
import time
import urllib.error
import urllib.request
import urllib.robotparser
from urllib.parse import quote, urldefrag, urljoin, urlsplit

import grpc
import urlfrontier_pb2 as pb
import urlfrontier_pb2_grpc as stubs

AGENT, DAY, LARGEST = "tidewatch-example", 86_400, 1 << 20
frontier = stubs.URLFrontierStub(grpc.insecure_channel(sys.argv[1]))
robots, gaps, ready = {}, {}, {}
hosts = {urlsplit(seed).netloc for seed in sys.argv[2:]}


class Stay(urllib.request.HTTPRedirectHandler):
    redirect_request = lambda *_: None  # a target waits for its turn, and for what robots.txt says of it


def get(url, *handlers):
    """Status, location and text, asked for when the host's gap is over; status 599 is no answer."""
    host, opener = urlsplit(url).netloc, urllib.request.build_opener(*handlers)
    time.sleep(max(0, ready.get(host, 0) - time.time()))
    try:
        with opener.open(urllib.request.Request(url, headers={"User-Agent": AGENT}), timeout=20) as answer:
            return answer.status, None, answer.read(LARGEST).decode("utf-8", "replace")
    except urllib.error.HTTPError as error:
        return error.code, error.headers.get("Location"), ""
    except (OSError, ValueError, http.client.HTTPException):
        return 599, None, ""
    finally:
        ready[host] = time.time() + gaps.get(host, 1)


def refusal(info):
    """403 if robots.txt says so, 599 if it cannot be read, or None. Its delay goes to the frontier."""
    root, host = urljoin(info.url, "/"), urlsplit(info.url).netloc
    if robots.get(root, (0,))[0] < time.time():
        (status, _, text), rules = get(root + "robots.txt"), urllib.robotparser.RobotFileParser()
        rules.parse(text.splitlines())
        is_unreadable = status >= 500 or status == 429
        robots[root] = time.time() + (600 if is_unreadable else DAY), is_unreadable, rules
        gaps[host] = int(rules.crawl_delay(AGENT) or 1)
        ready[host] = time.time() + gaps[host]
        frontier.SetDelay(pb.QueueDelayParams(key=info.key, delay_requestable=gaps[host]))
    _, is_unreadable, rules = robots[root]
    return 599 if is_unreadable else None if rules.can_fetch(AGENT, info.url) else 403


def discover(base, links):
    """Tells the frontier of links to the hosts of the seeds, in a form that can be asked for."""
    urls = set()
    for link in links:
        try:
            url = urldefrag(urljoin(base, html.unescape(link).strip()))[0]
            if urlsplit(url).scheme in ("http", "https") and urlsplit(url).netloc in hosts:
                urls.add(quote(url, safe="%/:=&?~+!$,;'@()*[]"))
        except ValueError:
            pass
    list(frontier.PutDiscovered(iter([pb.DiscoveredBatch(items=[pb.URLInfo(url=url) for url in urls])])))
    return len(urls)


discover("", sys.argv[2:])
while True:
    for info in frontier.GetURLs(pb.GetParams(max_queues=1, max_urls_per_queue=1, delay_requestable=900)):
        refused = refusal(info)
        status, location, text = (refused, None, "") if refused else get(info.url, Stay)
        count = discover(info.url, [location] if location else re.findall(r"href\s*=\s*[\"']([^\"']+)", text))
        if status in (429, 503):
            frontier.BlockQueueUntil(pb.BlockQueueParams(key=info.key, time=int(time.time()) + 3600))
        for key, value in {"status": str(status), "digest": hashlib.sha256(text.encode()).hexdigest()}.items():
            info.metadata[f"tidewatch.{key}"].values[:] = [value]
        again = 0 if status in (404, 410) else int(time.time()) + DAY
        list(frontier.PutURLs(iter([pb.URLItem(known=pb.KnownURLItem(info=info, refetchable_from_date=again))])))
        print(status, info.url, count, flush=True)
    time.sleep(1)
