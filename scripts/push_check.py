#!/usr/bin/env python3
"""Hold `tidewatch crawl --publishers` against clients and a hub that are not ours.

    push_check.py TIDEWATCH

Needs index-now-for-python, flask-websub, celery and cheroot from PyPI. A small site on loopback
changes its pages; index-now-for-python tells the crawl so, and the hub of flask-websub delivers its
feed. Then strangers forge, replay and flood. The site's own log of requests judges.
"""

import hashlib
import hmac
import http.server
import json
import pathlib
import signal
import socket
import sqlite3
import subprocess
import sys
import tempfile
import threading
import time
import urllib.error
import urllib.request

import requests
from celery import Celery
from cheroot.wsgi import Server as WsgiServer
from flask import Flask
from flask_websub.hub import Hub, SQLite3HubStorage
from index_now import IndexNowAuthentication, submit_url_to_index_now, submit_urls_to_index_now

# Seconds that something may take that must happen.
PATIENCE = 40
# Seconds in which something would have happened that must not.
QUIET = 6
# Lease that the hub grants, in seconds. A crawl renews none sooner than after most of an hour.
LEASE = 4_000
# Looks at a host's key files before strangers have to wait.
LOOKS = 4
KEY = "0123456789abcdef0123456789abcdef"
BUDGET = 4
# A publisher's hints move a tenth of the budget, saved up for at most an hour.
ALLOWANCE = BUDGET * 3600 // 10

CONFIG = """
[politeness]
least_gap = "50ms"
address_gap = "20ms"
[revisit]
least = "1s"
usual = "4h"
[scope]
reach = "host"
"""


def free_port():
    with socket.socket() as any_port:
        any_port.bind(("127.0.0.1", 0))
        return any_port.getsockname()[1]


class Site:
    """Pages that count their versions, a feed that names a hub, and a key file."""

    def __init__(self, hub):
        self.port, self.hub = free_port(), hub
        self.host = f"127.0.0.1:{self.port}"
        self.root = f"http://{self.host}"
        self.log, self.lock = [], threading.Lock()
        self.versions, self.items, self.has_hub = {}, [], True
        site = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self):
                with site.lock:
                    site.log.append((time.time(), self.path))
                kind, body, links = site.answer(self.path)
                self.send_response(200 if body is not None else 404)
                body = (body or "none").encode()
                self.send_header("Content-Type", kind)
                self.send_header("Content-Length", str(len(body)))
                if links:
                    self.send_header("Link", links)
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_):
                pass

        server = http.server.ThreadingHTTPServer(("127.0.0.1", self.port), Handler)
        threading.Thread(target=server.serve_forever, daemon=True).start()

    def answer(self, path):
        if path == "/robots.txt":
            return "text/plain", "User-agent: *\nAllow: /\n", None
        if path == f"/{KEY}.txt":
            return "text/plain", KEY + "\n", None
        if path == "/feed":
            return "application/rss+xml", self.feed(), self.links()
        if path == "/":
            pages = "".join(f"<a href='/p/{n}'>page {n}</a> " for n in range(20))
            return "text/html", f"<title>start</title><a href='/feed'>feed</a>{pages}", None
        if path.startswith(("/p/", "/new/", "/flood/", "/item/")):
            version = self.versions.get(path, 0)
            return "text/html", f"<title>{path}</title><p>Version {version} of {path}.", None
        return "text/html", None, None

    def links(self):
        if not self.has_hub:
            return None
        return f'<{self.hub}>; rel="hub", <{self.root}/feed>; rel="self"'

    def feed(self):
        items = "".join(f"<item><title>{i}</title><link>{self.root}{i}</link></item>" for i in self.items)
        return f"<rss version='2.0'><channel><title>news</title>{items}</channel></rss>"

    def fetches(self, path, since=0.0):
        with self.lock:
            return sum(1 for at, asked in self.log if asked == path and at >= since)

    def under(self, prefix):
        with self.lock:
            return len({asked for _, asked in self.log if asked.startswith(prefix)})


class RealHub:
    """The hub of flask-websub."""

    def __init__(self, scratch):
        self.port, self.file = free_port(), str(scratch / "hub.sqlite3")
        self.url = f"http://127.0.0.1:{self.port}/hub"
        celery = Celery("hub", broker="memory://")
        celery.conf.task_always_eager = True
        self.hub = Hub(SQLite3HubStorage(self.file), celery, BACKOFF_BASE=0.01, MAX_ATTEMPTS=0)
        app = Flask("hub")
        app.config.update(HUB_MIN_LEASE_SECONDS=1, HUB_DEFAULT_LEASE_SECONDS=LEASE, HUB_MAX_LEASE_SECONDS=LEASE)
        app.register_blueprint(self.hub.build_blueprint(url_prefix="/hub"))
        server = WsgiServer(("127.0.0.1", self.port), app)
        threading.Thread(target=server.start, daemon=True).start()

    def subscriptions(self):
        """Callback, secret and end of every subscription."""
        with sqlite3.connect(self.file) as rows:
            return list(rows.execute("select callback_url, secret, expiration_time, topic_url from hub"))

    def deliver(self, topic):
        self.hub.send_change_notification.delay(topic)


class Crawl:
    """The crawl under test."""

    def __init__(self, binary, scratch, seed):
        self.ear, self.port = free_port(), free_port()
        config = scratch / "crawl.toml"
        config.write_text(CONFIG)
        self.dir = scratch / "crawl"
        self.command = [
            binary, "crawl", seed, "--dir", str(self.dir), "--config", str(config),
            "--budget", f"{BUDGET}/s", "--allow-private", "--listen", f"127.0.0.1:{self.port}",
            "--publishers", f"127.0.0.1:{self.ear}", "--indexnow", "--websub", f"http://127.0.0.1:{self.ear}",
        ]
        self.log = open(scratch / "crawl.log", "ab")
        self.process = None

    def start(self):
        self.process = subprocess.Popen(self.command, stdout=self.log, stderr=self.log)
        wait("the crawl answers", lambda: self.told() is not None)
        return self

    def make_renewals_due(self):
        """While it does not run: as if most of the lease had passed."""
        file = self.dir / "push.json"
        kept = json.loads(file.read_text())
        file.write_text(json.dumps([one | {"next": int(time.time())} for one in kept]))

    def told(self, what="/api/hints"):
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{self.port}{what}", timeout=10) as answer:
                return json.load(answer)
        except (urllib.error.URLError, ConnectionError, TimeoutError):
            return None

    def counts(self):
        return self.told()["publishers"]

    def pages(self):
        return self.told("/status.json")["pages"]

    def indexnow(self):
        return f"http://127.0.0.1:{self.ear}/indexnow"


class Table:
    """What was expected, and what came."""

    def __init__(self):
        self.rows = []

    def check(self, what, got, wanted):
        is_good = got == wanted
        self.rows.append(is_good)
        note = "" if is_good else f" (expected {wanted!r}, got {got!r})"
        print(f"| {what}{note} | {'yes' if is_good else 'NO'} |", flush=True)


def wait(what, is_so, patience=PATIENCE):
    """Whether something comes true in time."""
    end = time.time() + patience
    while time.time() < end:
        if is_so():
            return True
        time.sleep(0.2)
    return False


def rate_safe(call):
    """A client that waits when it is told to come later."""
    for _ in range(20):
        status = call()
        if status != 429:
            break
        time.sleep(2)
    return status


def indexnow(site, crawl, check):
    """The real client, and strangers that pose as it."""
    key = IndexNowAuthentication(site.host, KEY, f"{site.root}/{KEY}.txt")
    changed = [f"/p/{n}" for n in range(3)]
    for path in changed:
        site.versions[path] = 1
    since = time.time()
    urls = [site.root + path for path in changed + ["/new/1"]]
    check("IndexNow: the client's list is taken", submit_urls_to_index_now(key, urls, endpoint=crawl.indexnow()), 200)
    seen = lambda: all(site.fetches(path, since) for path in changed + ["/new/1"])
    check("IndexNow: changed pages and a new one are fetched", wait("fetches", seen), True)
    check("IndexNow: the key file was fetched once", site.fetches(f"/{KEY}.txt"), 1)
    one = submit_url_to_index_now(key, f"{site.root}/new/2", endpoint=crawl.indexnow())
    check("IndexNow: the client's single URL is taken", one, 200)
    check("IndexNow: it is fetched", wait("fetch", lambda: site.fetches("/new/2")), True)

    def spaced(call):
        time.sleep(0.1)  # more than the gap
        return call()

    forged = IndexNowAuthentication(site.host, "f" * 32, f"{site.root}/{'f' * 32}.txt")
    send = lambda who, urls: submit_urls_to_index_now(who, urls, endpoint=crawl.indexnow())
    check("forged: a key without a file", send(forged, [f"{site.root}/forged/1"]), 403)
    check("forged: the same again asks the host no more", send(forged, [f"{site.root}/forged/1"]), 403)
    check("forged: the host was asked once", site.fetches(f"/{'f' * 32}.txt"), 1)
    made_up = [IndexNowAuthentication(site.host, digit * 32, f"{site.root}/{digit * 32}.txt") for digit in "0123456789"]
    answers = [spaced(lambda: send(other, [f"{site.root}/forged/1"])) for other in made_up]
    check("forged: after a few made-up keys others have to wait", (answers[0], answers[-1]), (403, 429))
    asked = sum(site.fetches(f"/{digit * 32}.txt") for digit in "0123456789")
    check("forged: the host was asked a few times", 0 < asked <= LOOKS, True)
    repeating = IndexNowAuthentication(site.host, "d" * 32, f"{site.root}/p/1?q={'d' * 32}")
    check("forged: a key file with a query", send(repeating, [f"{site.root}/p/1"]), 422)
    check("forged: pages of another host", send(key, ["http://localhost:1/forged/2"]), 422)
    elsewhere = IndexNowAuthentication(site.host, KEY, f"http://localhost:{site.port}/{KEY}.txt")
    check("forged: a key file elsewhere", send(elsewhere, [f"{site.root}/forged/3"]), 422)
    below = IndexNowAuthentication(site.host, KEY, f"{site.root}/p/{KEY}.txt")
    check("forged: a key file for another directory", send(below, [f"{site.root}/forged/4"]), 422)
    post = lambda **json: requests.post(crawl.indexnow(), json=json, timeout=10).status_code
    check("malformed: a key of 3 characters", post(host=site.host, key="abc", urlList=[site.root + "/"]), 422)
    check("malformed: no list", post(host=site.host, key=KEY), 400)
    huge = requests.post(crawl.indexnow(), data=b"x" * (3 << 20), timeout=10)
    check("malformed: 3 MiB", huge.status_code, 413)
    check("forged: nothing of all that was fetched", site.under("/forged/"), 0)

    time.sleep(QUIET)
    since = time.time()
    replies = {send(key, urls[:1]) for _ in range(50)}
    time.sleep(QUIET)
    check("replayed: 50 times the same is answered", replies, {200})
    print(f"replayed 50 times, fetched {site.fetches('/p/0', since)} times")

    before = crawl.pages()
    flood = [[f"{site.root}/flood/{part}/{n}" for n in range(10_000)] for part in range(2)]
    first = send(key, flood[0])
    second = send(key, flood[1])
    wait("the figures", lambda: crawl.pages() > before, QUIET)
    grown = crawl.pages() - before
    check("flood: the first part counts, the second is too much", (first, second), (200, 429))
    print(f"flood of 20000: {grown} became known; the allowance is {ALLOWANCE} an hour")
    check("flood: no more than the allowance became known", 0 < grown <= ALLOWANCE * 1.05, True)


def websub(site, hub, crawl, check):
    """The real hub, and strangers that pose as it."""
    check("WebSub: subscribed and verified", wait("subscription", lambda: len(hub.subscriptions()) == 1), True)
    callback, secret, ends, topic = hub.subscriptions()[0]
    check("WebSub: the topic is what the feed calls itself", topic, site.root + "/feed")
    check("WebSub: a secret was given", len(secret) >= 32, True)
    crawl.process.send_signal(signal.SIGKILL)
    crawl.process.wait()
    crawl.make_renewals_due()
    crawl.start()
    feeds = site.fetches("/feed")
    site.items.append("/item/1")
    hub.deliver(topic)
    check("WebSub: after kill -9 a delivery brings the new page", wait("item", lambda: site.fetches("/item/1")), True)
    check("WebSub: without another fetch of the feed by the crawl", site.fetches("/feed") - feeds, 1)
    renewed = lambda: hub.subscriptions() and hub.subscriptions()[0][2] > ends
    check("WebSub: the lease is renewed when that is due", wait("renewal", renewed), True)
    check("WebSub: one subscription all the while", len(hub.subscriptions()), 1)

    body = site.feed().replace("/item/1", "/item/forged").encode()
    sign = lambda text, secret=secret: "sha256=" + hmac.new(secret.encode(), text, hashlib.sha256).hexdigest()
    def send(text, signature=None, link=None, to=callback):
        headers = {"Content-Type": "application/rss+xml"}
        headers |= {"X-Hub-Signature": signature} if signature else {}
        headers |= {"Link": link} if link else {}
        return requests.post(to, data=text, headers=headers, timeout=10).status_code
    before = crawl.counts()
    check("forged: unsigned", send(body), 202)
    check("forged: signed with another secret", send(body, sign(body, "wrong")), 202)
    check("forged: a signature of something else", send(body, sign(b"else")), 202)
    link = f'<{site.root}/other>; rel="self"'
    check("forged: of another topic", send(body, sign(body), link), 202)
    check("forged: at an unknown callback", send(body, sign(body), to=callback[:-1] + "x"), 404)
    foreign = body.replace(site.root.encode(), b"http://localhost:1")
    check("forged: signed, but about another host", send(foreign, sign(foreign)), 202)
    right = site.feed().encode()
    check("replayed: what the hub sent before", send(right, sign(right)), 202)
    after = crawl.counts()
    change = {name: after[name] - before[name] for name in ("forged", "repeated", "delivered")}
    check("forged and replayed deliveries are counted", change, {"forged": 4, "repeated": 1, "delivered": 1})
    answers = [send(b"flood %d" % n, "sha256=00") for n in range(100)]
    check("flood: beyond 60 a minute", answers.count(429) > 30, True)
    ask = lambda **query: requests.get(callback, params={k.replace("_", ".", 1): v for k, v in query.items()}, timeout=10).status_code
    check("challenge: to end what goes on", ask(hub_mode="unsubscribe", hub_topic=topic, hub_challenge="x"), 404)
    check("challenge: for another topic", ask(hub_mode="subscribe", hub_topic=topic + "x", hub_challenge="x", hub_lease_seconds=9), 404)
    check("denied: of another topic", ask(hub_mode="denied", hub_topic=topic + "x"), 404)
    time.sleep(QUIET)
    check("forged: nothing of all that was fetched", site.fetches("/item/forged"), 0)

    site.has_hub = False
    key = IndexNowAuthentication(site.host, KEY, f"{site.root}/{KEY}.txt")
    site.items.append("/item/2")
    told = rate_safe(lambda: submit_url_to_index_now(key, topic, endpoint=crawl.indexnow()))
    check("IndexNow: the feed has changed", told, 200)
    check("WebSub: a feed without its hub is unsubscribed", wait("end", lambda: not hub.subscriptions()), True)
    check("WebSub: a late delivery is refused", send(right, sign(right)) in (404, 410), True)


def main():
    binary = sys.argv[1]
    with tempfile.TemporaryDirectory() as scratch:
        scratch = pathlib.Path(scratch)
        hub, table = RealHub(scratch), Table()
        site = Site(hub.url)
        crawl = Crawl(binary, scratch, site.root + "/").start()
        try:
            known = lambda: all(site.fetches(f"/p/{n}") for n in range(20)) and site.fetches("/feed")
            table.check("the site is crawled", wait("the first crawl", known), True)
            websub(site, hub, crawl, table.check)
            indexnow(site, crawl, table.check)
        finally:
            crawl.process.send_signal(signal.SIGTERM)
            crawl.process.wait(60)
            if not all(table.rows):
                print((scratch / "crawl.log").read_text(errors="replace")[-3000:], file=sys.stderr)
    print(f"{sum(table.rows)} of {len(table.rows)} statements hold")
    sys.exit(0 if all(table.rows) else 1)


if __name__ == "__main__":
    main()
