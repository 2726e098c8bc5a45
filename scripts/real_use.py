#!/usr/bin/env python3
"""Uses tidewatch as an operator would, on two real sites, and checks what it did.

Usage: scripts/real_use.py [BINARY]        (default: target/debug/tidewatch)

Serves Debian's documentation of Python and PostgreSQL with nginx in a network namespace that has only
loopback: the first over HTTP/2 behind a redirect from http, the second over plain HTTP/1.1. Then it
 1. crawls both sites with --once, stops after STOP_AFTER pages, and resumes without naming seeds:
    every linked page must be fetched exactly once;
 2. crawls on with --min-revisit and edits 20 pages meanwhile: every edit must be found in time;
 3. crawls on with the default revisit rule and counts requests per page over QUIET seconds;
 4. meanwhile replays the archive with pywb in headless Chromium: a first capture, a revisit, an edited
    page before and after its edit, a redirect, a page that came over HTTP/2 and its requisites.
The web server's log and the files on disk are the judges, not the crawler.

How the sizes were chosen: both sites are ours, so they may be asked RATE times a second, and a sweep of
the larger one (about 1,200 pages) takes half a minute. An edit is found when its page has rested, at most
twice MIN_REVISIT by then, and its site was swept: `patience` is computed from that.

Needs root and Linux. As root it installs nginx, chromium and openssl, and unpacks the documentation and pywb below
target/. If something is missing it is skipped, and with CI set it fails.
"""

import csv
import gzip
import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import time
import urllib.parse
from collections import Counter
from html.parser import HTMLParser
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
HOME = ROOT / "target" / "real-use"
# A documentation package, the folder of its pages, and where they are served.
SITES = [
    ("python3-doc", r"python3\.[0-9]+-doc", "usr/share/doc/python3.*/html", "https://127.0.0.2"),
    ("postgresql-doc", r"postgresql-doc-[0-9]+", "usr/share/doc/postgresql-doc-*/html", "http://127.0.0.3"),
]
RATE = 50  # requests a second to each of the two hosts
MIN_REVISIT = 10  # seconds
STOP_AFTER = 300  # pages
EDITS = 20
QUIET = 40  # seconds
# Pages that a stop interrupts are requested again; the crawl has at most one request a host under way.
INTERRUPTED = len(SITES)
MARK = "Edited while the crawl was running: number"
PYWB = "pywb==2.10.0"


class Missing(Exception):
    """A piece that this check needs cannot be had."""


def main():
    binary = Path(sys.argv[1] if len(sys.argv) > 1 else ROOT / "target/debug/tidewatch").resolve()
    if os.environ.get("REAL_USE_INSIDE") != "yes":
        try:
            prepare(binary)
        except Missing as missing:
            sys.exit(skip(str(missing)))
        inside = dict(os.environ, REAL_USE_INSIDE="yes")
        script = 'ip link set lo up && exec "$@"'
        command = ["unshare", "--net", "--", "sh", "-c", script, "sh", sys.executable, __file__, binary]
        sys.exit(subprocess.run(command, env=inside).returncode)
    use(binary)


def skip(why):
    """Says that the check could not run; returns the exit code."""
    if os.environ.get("CI", "false") not in ("", "false"):
        print(f"real use: {why}", file=sys.stderr)
        return 1
    print(f"real use is skipped: {why}")
    if os.environ.get("TIDEWATCH_SKIPPED"):
        with open(os.environ["TIDEWATCH_SKIPPED"], "a") as skipped:
            skipped.write(f"skipped scripts real_use.py: {why}\n")
    return 0


# What is needed


def prepare(binary):
    if not binary.exists():
        raise Missing(f"there is no {binary}; run cargo build first")
    if os.geteuid() != 0 or not shutil.which("unshare") or not shutil.which("ip"):
        raise Missing("only root can make a network namespace (unshare, ip)")
    tools = [tool for tool in ("nginx", "chromium", "openssl") if not shutil.which(tool)]
    needed = [site for site in SITES if not pages_of(site)]
    if tools or needed:
        apt("update", "-qq")
    if tools:
        apt("install", "-y", "-qq", "--no-install-recommends", *tools)
    for site in needed:
        unpack(site)
    if not (HOME / "pywb/bin/wayback").exists():
        run(sys.executable, "-m", "venv", HOME / "pywb")
        run(HOME / "pywb/bin/python", "-m", "pip", "install", "-q", PYWB)


def run(*command, **options):
    try:
        done = subprocess.run([str(part) for part in command], check=True, text=True,
                              stdout=subprocess.PIPE, **options)
    except (OSError, subprocess.CalledProcessError) as error:
        raise Missing(str(error)) from error
    return done.stdout


def apt(*arguments):
    return run("apt-get", *arguments, env=dict(os.environ, DEBIAN_FRONTEND="noninteractive"))


def pages_of(site):
    """The folder of a site's pages, if they are there."""
    found = sorted((HOME / "packages").glob(site[2] + "/index.html"))
    real = [page.resolve().parent for page in found if page.exists()]
    return real[0] if real else None


def unpack(site):
    """Unpacks the package that a site's meta package depends on, without installing it."""
    meta, pattern, _, _ = site
    named = re.search(rf"Depends: ({pattern})$", run("apt-cache", "depends", meta), re.MULTILINE)
    if not named:
        raise Missing(f"{meta} depends on no documentation package")
    folder = HOME / "packages"
    folder.mkdir(parents=True, exist_ok=True)
    run("apt-get", "download", named[1], cwd=folder)
    for package in folder.glob(f"{named[1]}_*.deb"):
        run("dpkg-deb", "-x", package, folder)
        package.unlink()
    if not pages_of(site):
        raise Missing(f"{named[1]} has no {site[2]}/index.html")


# The check


def use(binary):
    began = time.time()
    work = HOME / "run"
    shutil.rmtree(work, ignore_errors=True)
    work.mkdir(parents=True)
    roots = {}
    for site in SITES:
        roots[site[3]] = work / site[0]
        shutil.copytree(pages_of(site), roots[site[3]], symlinks=False, ignore_dangling_symlinks=True)
    linked = reachable(roots)
    web = Web(work, roots)
    crawl = Crawl(binary, work)
    try:
        visit_all_once(crawl, web, linked)
        edits, patience = edit(crawl, web, roots, linked)
        shelf = work / "shelf"
        shutil.copytree(crawl.dir / "archive", shelf / "collections/docs/archive")
        leave_alone(crawl, web, linked, lambda: replay(shelf, edits, linked))
    finally:
        crawl.end()
        web.end()
    print(f"real use: done in {time.time() - began:.0f} s")


def check(holds, what):
    print(("ok:     " if holds else "FAILED: ") + what, flush=True)
    if not holds:
        sys.exit(1)


def visit_all_once(crawl, web, linked):
    # The first site answers http with a redirect to https.
    seeds = [f"http://{host_of(site[3])}/index.html" for site in SITES]
    crawl.start(*seeds, "--once")
    wait(lambda: len(web.requests()) >= STOP_AFTER, 60, f"{STOP_AFTER} requests")
    crawl.stop()
    before = len(web.requests())
    began = time.time()
    crawl.start("--once")
    crawl.wait(120)
    asked = Counter(request["url"] for request in web.requests())
    missing = sorted(linked - set(asked))
    check(not missing, f"stopped after {before} requests and resumed without seeds, --once fetched "
          f"{len(linked) - len(missing)} of {len(linked)} linked pages in {time.time() - began:.0f} s; "
          f"missing: {missing[:5]}")
    again = [url for url, times in asked.items() if times > 1]
    check(len(again) <= INTERRUPTED, f"{len(again)} URLs were requested twice: {again[:5]}")
    over = Counter(request["over"] for request in web.requests() if request["url"] in linked)
    check(over["HTTP/2.0"] > 0 and over["HTTP/1.1"] > 0, f"pages came by both protocols: {dict(over)}")
    others = sorted(set(asked) - linked)
    print(f"        {len(asked)} URLs requested; not linked from a page: {others[:5]}")


def edit(crawl, web, roots, linked):
    """Edits pages during a crawl; returns their URLs, and how long it may take to find the edits."""
    largest = max(sum(url.startswith(site + "/") for url in linked) for site in roots)
    # The page may have been visited just before its edit. It then rests 2 · MIN_REVISIT, and is visited in
    # the sweep after that, beside pages that rest no longer than it. A third of a sweep for slow moments.
    patience = 2 * MIN_REVISIT + 4 / 3 * largest / RATE
    crawl.start("--min-revisit", f"{MIN_REVISIT}s")
    seen = len(web.requests())
    wait(lambda: len(web.requests()) > seen, 30, "a request")
    edits = random.Random(20).sample(sorted(url for url in linked if url.endswith(".html")), EDITS)
    at = time.time()
    for number, url in enumerate(edits):
        file = file_of(url, roots)
        text = file.read_text(errors="surrogateescape")
        head, body_end, tail = text.rpartition("</body>")
        edited = f"{head}<p>{MARK} {number}.</p>{body_end}{tail}"
        file.write_text(edited, errors="surrogateescape")

    def found():
        return {request["url"]: request["at"] - at for request in web.requests()
                if request["at"] > at and request["status"] == 200 and request["url"] in edits}

    while len(found()) < EDITS and time.time() < at + patience:
        time.sleep(0.5)
    crawl.stop()
    waits = sorted(found().values())
    check(len(waits) == EDITS, f"{len(waits)} of {EDITS} edits were fetched within {patience:.0f} s; "
          f"the last after {waits[-1] if waits else 0:.0f} s")
    pages = crawl.export("pages")
    changed = {row["url"] for row in pages if int(row["changes"] or 0) > 0}
    check(changed == set(edits), f"the crawl knows {len(changed & set(edits))} of {EDITS} edits as "
          f"changes, and {len(changed - set(edits))} changes that were none")
    return edits, patience


def leave_alone(crawl, web, linked, meanwhile):
    crawl.start()
    time.sleep(3)
    before, began = len(web.requests()), time.time()
    meanwhile()
    time.sleep(max(0, QUIET - (time.time() - began)))
    requests, minutes = len(web.requests()) - before, (time.time() - began) / 60
    crawl.stop()
    per_page = requests / minutes / len(linked)
    # A page rests 4 hours at first: 1/240 of a request a minute. A source, or a page that changed, rests less.
    check(per_page < 1 / 60, f"quiet: {requests} requests in {minutes:.1f} minutes, {per_page:.4f} a page "
          "and minute with the default rests")


def replay(shelf, edits, linked):
    collection = shelf / "collections/docs"
    (collection / "indexes").mkdir()
    for index in (collection / "archive").glob("*.cdxj"):
        index.rename(collection / "indexes" / index.name)
    (shelf / "config.yaml").write_text("framed_replay: false\n")
    captures = {}
    for index in (collection / "indexes").glob("*.cdxj"):
        for line in index.read_text().splitlines():
            _, at, fields = line.split(" ", 2)
            fields = json.loads(fields)
            captures.setdefault(fields["url"], []).append((at, fields.get("mime", ""), fields["status"]))
    wayback = subprocess.Popen([HOME / "pywb/bin/wayback", "--port", "8080", "--bind", "127.0.0.1"],
                               cwd=shelf, stdout=subprocess.DEVNULL,
                               stderr=open(shelf / "wayback.log", "w"))
    try:
        wait(lambda: answers("127.0.0.1", 8080), 30, "pywb")
        url = edits[0]
        first, last = min(captures[url])[0], max(captures[url])[0]
        show(shelf, "edited page, first capture", url, first, "", MARK)
        show(shelf, "edited page, after its edit", url, last, MARK, "")
        quiet = next(url for url in sorted(linked - set(edits))
                     if url.endswith(".html") and len(captures.get(url, [])) > 1)
        at, mime, _ = max(captures[quiet])
        check(mime == "warc/revisit", f"{quiet} was visited again and not changed ({mime})")
        show(shelf, "revisit of an unchanged page", quiet, at, title_of(quiet), "")
        secure, plain = f"{SITES[0][3]}/index.html", f"http://{host_of(SITES[0][3])}/index.html"
        show(shelf, "page over HTTP/2", secure, min(captures[secure])[0], title_of(secure), "")
        needed = Requisites.of(secure)
        lacking = [url for url in needed if url not in captures]
        check(needed and not lacking, f"{len(needed)} requisites of that page were archived; lacking: {lacking}")
        at, _, status = min(captures[plain])
        check(status == "301", f"{plain} was archived as a redirect ({status})")
        show(shelf, "redirect", plain, at, title_of(secure), "")
    finally:
        wayback.terminate()
        wayback.wait()


def show(shelf, what, url, at, must, must_not):
    """Shows a capture in Chromium and reads what is on the page."""
    address = f"http://127.0.0.1:8080/docs/{at}mp_/{url}"
    profile = shelf / "chromium"
    done = subprocess.run(["chromium", "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
                           f"--user-data-dir={profile}", "--virtual-time-budget=5000", "--dump-dom", address],
                          stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, timeout=60)
    text = Text.of(done.stdout)
    is_shown = len(text) > 200 and must in text and not (must_not and must_not in text)
    check(is_shown, f"pywb in Chromium, {what}: {len(text)} characters of text of {url}")


# Parts


class Web:
    """Both sites in nginx, and its log."""

    def __init__(self, work, roots):
        self.log, self.hosts = work / "access.log", [host_of(site) for site in roots]
        servers = "".join(self.server(work, site, root) for site, root in roots.items())
        config = work / "nginx.conf"
        config.write_text(f"""
            daemon off; user root; pid {work}/nginx.pid; error_log {work}/error.log;
            events {{}}
            http {{
                include /etc/nginx/mime.types;
                client_body_temp_path {work}; proxy_temp_path {work}; fastcgi_temp_path {work};
                uwsgi_temp_path {work}; scgi_temp_path {work};
                log_format short '$msec $status $server_protocol $scheme://$host$request_uri';
                access_log {self.log} short;
                gzip on;
                {servers}
            }}""")
        self.process = subprocess.Popen(["nginx", "-c", config])
        wait(lambda: all(answers(host, 80) for host in self.hosts), 10, "nginx")

    @staticmethod
    def server(work, site, root):
        """What nginx is told about a site. One on https sends plain requests there."""
        scheme, host = site.split("://")
        if scheme == "http":
            return f"server {{ listen {host}:80; root {root}; charset utf-8; }}\n"
        subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2",
                        "-subj", f"/CN={host}", "-addext", f"subjectAltName=IP:{host}",
                        "-addext", "basicConstraints=critical,CA:FALSE",
                        "-keyout", work / "key.pem", "-out", work / "certificate.pem"],
                       check=True, stderr=subprocess.DEVNULL)
        return (f"server {{ listen {host}:80; return 301 {site}$request_uri; }}\n"
                f"server {{ listen {host}:443 ssl http2; root {root}; charset utf-8;\n"
                f"  ssl_certificate {work}/certificate.pem; ssl_certificate_key {work}/key.pem; }}\n")

    def requests(self):
        """All requests for pages, in order."""
        rows = (line.split(" ", 3) for line in self.log.read_text().splitlines())
        rows = [{"at": float(at), "status": int(status), "over": over, "url": url}
                for at, status, over, url in rows]
        return [row for row in rows if not row["url"].endswith("/robots.txt")]

    def end(self):
        self.process.terminate()
        self.process.wait()


class Crawl:
    """The command, run again and again on one directory."""

    def __init__(self, binary, work):
        self.binary, self.dir, self.work, self.process = binary, work / "crawl", work, None
        self.config = work / "crawl.toml"
        hosts = "".join(f'[host."{host_of(site[3])}"]\nrate = "{RATE}/s"\nown = true\n' for site in SITES)
        network = f'[network]\nroots_file = "{work}/certificate.pem"\n'
        self.config.write_text(f'budget = "{2 * RATE}/s"\n{network}{hosts}')
        self.log = open(work / "crawl.log", "w")

    def start(self, *arguments):
        command = [self.binary, "crawl", *arguments, "--dir", self.dir, "--config", self.config,
                   "--allow-private", "--requisites"]
        self.log.write(f"$ {' '.join(map(str, command))}\n")
        self.log.flush()
        self.process = subprocess.Popen(command, stdout=self.log, stderr=self.log)

    def wait(self, seconds):
        code = self.process.wait(seconds)
        check(code == 0, f"the crawl ended by itself with exit code {code}")

    def stop(self):
        check(self.process.poll() is None, "the crawl runs until it is stopped")
        self.process.send_signal(signal.SIGINT)
        self.wait(20)

    def end(self):
        if self.process and self.process.poll() is None:
            self.process.kill()

    def export(self, table):
        file = self.work / f"{table}.csv"
        subprocess.run([self.binary, "export", table, "--dir", self.dir, "-o", file], check=True)
        with open(file, newline="") as rows:
            return list(csv.DictReader(rows))


class Links(HTMLParser):
    """The links of a page, as a browser would follow or load them."""

    def __init__(self):
        super().__init__()
        self.found, self.base = [], ""

    def handle_starttag(self, tag, attributes):
        attributes = dict(attributes)
        if tag in ("a", "area") and attributes.get("href") is not None:
            self.found.append(attributes["href"])


class Requisites(HTMLParser):
    """What a browser loads to show a page."""

    def __init__(self):
        super().__init__()
        self.found = []

    def handle_starttag(self, tag, attributes):
        attributes = dict(attributes)
        if tag == "link" and attributes.get("rel") == "stylesheet":
            self.found.append(attributes["href"])
        if tag in ("img", "script") and attributes.get("src"):
            self.found.append(attributes["src"])

    @staticmethod
    def of(url):
        """Those of a page that its site has."""
        parser = Requisites()
        parser.feed(file_text(url))
        urls = {urllib.parse.urljoin(url, found) for found in parser.found}
        return sorted(url for url in urls if file_of(url).is_file())


class Text(HTMLParser):
    """The text of a page."""

    def __init__(self):
        super().__init__()
        self.parts, self.raw = [], 0

    def handle_starttag(self, tag, _):
        self.raw += tag in ("script", "style")

    def handle_endtag(self, tag):
        self.raw -= tag in ("script", "style")

    def handle_data(self, data):
        self.parts.append("" if self.raw else data)

    @staticmethod
    def of(html):
        parser = Text()
        parser.feed(html)
        return " ".join("".join(parser.parts).split())


def reachable(roots):
    """URLs of all files that links lead to from the front pages."""
    todo = [f"{site}/index.html" for site in roots]
    known = set(todo)
    while todo:
        url = todo.pop()
        if not url.endswith(".html"):
            continue
        page = Links()
        page.feed(file_text(url, roots))
        for link in page.found:
            target = urllib.parse.urljoin(url, link.strip()).split("#")[0]
            if target not in known and target.startswith(tuple(f"{site}/" for site in roots)):
                file = file_of(target, roots)
                if file.is_file():
                    known.add(target)
                    todo.append(target)
    return known


def host_of(site):
    return site.split("://")[1]


def file_of(url, roots=None):
    roots = roots or {site[3]: HOME / "run" / site[0] for site in SITES}
    parts = urllib.parse.urlsplit(url)
    return roots[f"{parts.scheme}://{parts.netloc}"] / urllib.parse.unquote(parts.path).lstrip("/")


def file_text(url, roots=None):
    return file_of(url, roots).read_text(errors="replace")


def title_of(url):
    """The title of a page, as a browser shows it."""
    return Text.of(re.search(r"<title>(.*?)</title>", file_text(url), re.DOTALL)[1])


def answers(host, port):
    import socket

    try:
        socket.create_connection((host, port), 1).close()
        return True
    except OSError:
        return False


def wait(until, seconds, what):
    end = time.time() + seconds
    while not until():
        if time.time() > end:
            check(False, f"no {what} within {seconds} s")
        time.sleep(0.1)


if __name__ == "__main__":
    main()
