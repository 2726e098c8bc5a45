#!/usr/bin/env python3
"""Hold `examples/fetcher.py` against a site with awkward links, redirects and answers.

    fetcher_check.py TIDEWATCH

Needs grpcio and grpcio-tools from PyPI. The site's own log of requests judges.
"""

import http.server
import os
import pathlib
import socket
import subprocess
import sys
import tempfile
import threading
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
PROTO = ROOT / "crates/run/urlfrontier/proto"
# Seconds between two requests that the site wants, and that are still taken for as many.
DELAY, TOLERANCE = 1, 0.05
PATIENCE = 60
PAGES = ["/", "/a%20b", "/moved", "/kept", "/broken", "/%C3%A9", "/last?a=1&b=2"]
LINKS = ["/a b", "/moved", "/away", "/broken", "/\u00e9", "/private/1", "http://[", "mailto:a@b.example", "/last?a=1&amp;b=2"]


def free_port():
    with socket.socket() as any_port:
        any_port.bind(("127.0.0.1", 0))
        return any_port.getsockname()[1]


class Site(http.server.ThreadingHTTPServer):
    def __init__(self):
        super().__init__(("127.0.0.1", 0), Handler)
        self.log = []
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def asked(self):
        return [path for _, path, _ in list(self.log)]


class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.server.log.append((time.time(), self.path, self.headers["User-Agent"]))
        status, headers, body = 200, {}, f"<p>{self.path}"
        if self.path == "/robots.txt":
            body = f"User-agent: *\nDisallow: /private/\nCrawl-delay: {DELAY}\n"
        elif self.path == "/":
            body = "".join(f'<a href="{link}">x</a>' for link in [*LINKS, self.server.dead])
        elif self.path == "/moved":
            status, headers = 302, {"Location": "/kept"}
        elif self.path == "/away":
            status, headers = 302, {"Location": "/private/2"}
        length = len(body.encode()) + (100 if self.path == "/broken" else 0)
        self.send_response(status)
        for name, value in {"Content-Length": str(length), **headers}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body.encode())

    def log_message(self, *_):
        pass


def main():
    site, port = Site(), free_port()
    site.dead = f"http://127.0.0.1:{free_port()}/"
    with tempfile.TemporaryDirectory() as scratch:
        stubs = [sys.executable, "-m", "grpc_tools.protoc", f"-I{PROTO}", f"--python_out={scratch}"]
        subprocess.run([*stubs, f"--grpc_python_out={scratch}", "urlfrontier.proto"], check=True)
        listen = f"127.0.0.1:{port}"
        frontier = subprocess.Popen([sys.argv[1], "frontier", "--dir", f"{scratch}/urls", "--listen", listen])
        time.sleep(2)
        seeds = [f"http://127.0.0.1:{site.server_port}/", site.dead]
        command = [sys.executable, str(ROOT / "examples/fetcher.py"), listen, *seeds]
        fetcher = subprocess.Popen(command, env={**os.environ, "PYTHONPATH": scratch})
        end = time.time() + PATIENCE
        while time.time() < end and not set(PAGES) <= set(site.asked()) and fetcher.poll() is None:
            time.sleep(0.2)
        time.sleep(3)
        statements = judge(site, fetcher)
        for process in (fetcher, frontier):
            process.terminate()
            process.wait(20)
    for what, is_so in statements.items():
        print(f"| {what} | {'yes' if is_so else 'NO'} |")
    sys.exit(0 if all(statements.values()) else 1)


def judge(site, fetcher):
    log = sorted(site.log)
    gaps = [later[0] - sooner[0] for sooner, later in zip(log, log[1:])]
    return {
        "the fetcher goes on": fetcher.poll() is None,
        f"it fetches {' '.join(PAGES)}": set(PAGES) <= set(site.asked()),
        "robots.txt comes first, and once": site.asked()[:1] == ["/robots.txt"] and site.asked().count("/robots.txt") == 1,
        "nothing that robots.txt disallows, by no redirect either": not any("private" in path for path in site.asked()),
        "every request names the fetcher": all(agent == "tidewatch-example" for _, _, agent in log),
        f"requests are {DELAY} s apart": min(gaps, default=0) >= DELAY - TOLERANCE,
    }


if __name__ == "__main__":
    main()
