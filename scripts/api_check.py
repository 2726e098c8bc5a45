#!/usr/bin/env python3
"""Holds the HTTP API against its own OpenAPI description, with schemathesis.

Usage: scripts/api_check.py [BINARY] [CASES]      (default: target/debug/tidewatch, 40 cases a route)

Crawls a page of its own for a moment, serves the crawl on loopback with a token, and lets schemathesis
make requests that the description allows and such as it forbids. Every answer must be one that the
description names, forbidden requests must be refused, and nothing may be a server error. The crawl goes on
meanwhile, so that seeds and budgets can be set. Exits 1 on any failure.

Runs in a network namespace that has only loopback, because it names random seeds. So it needs root and
Linux. Installs schemathesis below target/. If it cannot, it is skipped, and with CI set it fails.
"""

import http.server
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
HOME = ROOT / "target" / "schemathesis"
VERSION = "schemathesis==4.32.5"
TOKEN = "a token that is long enough"
# Endless by design, so a request for it never ends.
ENDLESS = "/api/events"


def main():
    binary = Path(sys.argv[1] if len(sys.argv) > 1 else ROOT / "target/debug/tidewatch").resolve()
    cases = sys.argv[2] if len(sys.argv) > 2 else "40"
    tool = HOME / "bin" / "schemathesis"
    if not tool.exists():
        try:
            subprocess.run([sys.executable, "-m", "venv", HOME], check=True)
            pip = [HOME / "bin" / "python", "-m", "pip", "install", "-q", VERSION]
            subprocess.run(pip, check=True)
        except (OSError, subprocess.CalledProcessError) as error:
            sys.exit(skip(f"schemathesis cannot be installed: {error}"))
    if os.environ.get("API_CHECK_INSIDE") != "yes":
        if os.geteuid() != 0 or not shutil.which("unshare") or not shutil.which("ip"):
            sys.exit(skip("only root can make a network namespace (unshare, ip)"))
        inside = dict(os.environ, API_CHECK_INSIDE="yes")
        script = 'ip link set lo up && exec "$@"'
        command = ["unshare", "--net", "--", "sh", "-c", script, "sh", sys.executable, __file__]
        sys.exit(subprocess.run([*command, binary, cases], env=inside).returncode)
    with tempfile.TemporaryDirectory() as folder:
        folder = Path(folder)
        (folder / "token").write_text(TOKEN)
        port, site = free_port(), serve_site()
        command = [binary, "crawl", f"http://127.0.0.1:{site}/", "--dir", folder / "crawl",
                   "--allow-private", "--listen", f"127.0.0.1:{port}", "--token-file",
                   folder / "token", "--for", "10m"]
        with open(folder / "log", "w") as log:
            crawl = subprocess.Popen(command, stdout=log, stderr=log)
            try:
                wait_for(port)
                sys.exit(check(tool, f"http://127.0.0.1:{port}", cases, folder))
            finally:
                crawl.terminate()
                crawl.wait()


def check(tool, base, cases, folder):
    done = subprocess.run([
        tool, "run", f"{base}/api/openapi.json", "--url", base, "--checks", "all",
        # No schema can say which hosts a URL may name: such a URL is refused with 400.
        "--exclude-checks", "positive_data_acceptance",
        "--exclude-path", ENDLESS, "--header", f"Authorization: Bearer {TOKEN}",
        "--max-examples", cases, "--seed", "1", "--phases", "examples,coverage,fuzzing",
        "--no-color", "--request-timeout", "20", "--max-failures", "40",
    ], cwd=folder)
    return done.returncode


def skip(why):
    if os.environ.get("CI", "false") not in ("", "false"):
        print(f"API check: {why}", file=sys.stderr)
        return 1
    print(f"the API check is skipped: {why}")
    if os.environ.get("TIDEWATCH_SKIPPED"):
        with open(os.environ["TIDEWATCH_SKIPPED"], "a") as skipped:
            skipped.write(f"skipped scripts api_check.py: {why}\n")
    return 0


def serve_site():
    """A site of one page; returns its port."""

    class Site(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            body = b"<!doctype html><title>Tides</title><p>High water at noon."
            self.send_response(404 if self.path == "/robots.txt" else 200)
            self.send_header("Content-Type", "text/html")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_):
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Site)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server.server_port


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as free:
        return free.getsockname()[1]


def wait_for(port):
    for _ in range(300):
        try:
            socket.create_connection(("127.0.0.1", port), 1).close()
            # The first figures are published a moment later.
            return time.sleep(2)
        except OSError:
            time.sleep(0.1)
    sys.exit("the crawl did not listen within 30 s")


if __name__ == "__main__":
    main()
