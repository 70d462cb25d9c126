"""An S3 server of this machine, as a process of its own, and one before it that fails some of its requests."""

import os
import random
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.client import HTTPConnection
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

KEYS = {"AWS_ACCESS_KEY_ID": "testing", "AWS_SECRET_ACCESS_KEY": "testing", "AWS_DEFAULT_REGION": "us-east-1"}


def free_port() -> int:
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return int(s.getsockname()[1])


@contextmanager
def s3_server() -> Iterator[int]:
    """A moto server; its port."""
    port = free_port()
    command = [sys.executable, "-m", "moto.server", "-H", "127.0.0.1", "-p", str(port)]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        for _ in range(600):
            try:
                socket.create_connection(("127.0.0.1", port), 0.2).close()
                break
            except OSError:
                time.sleep(0.1)
        yield port
    finally:
        process.kill()
        process.wait()


@contextmanager
def failing(port: int, share: float, seed: int = 0) -> Iterator[tuple[int, list[int]]]:
    """A server before another one, of whose requests a share ends with status 503 or a closed connection; its port, and
    a list of two counts: requests, and those that failed."""
    dice, counts, lock = random.Random(seed), [0, 0], threading.Lock()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def answer(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            with lock:
                counts[0] += 1
                fails = dice.random() < share
                counts[1] += fails
            if fails and counts[1] % 2:
                self.close_connection = True
                self.connection.shutdown(socket.SHUT_RDWR)
                return
            if fails:
                status, headers, content = 503, [], b""
            else:
                server = HTTPConnection("127.0.0.1", port, timeout=60)
                server.request(self.command, self.path, body or None, dict(self.headers.items()))
                found = server.getresponse()
                status, headers, content = found.status, found.getheaders(), found.read()
                server.close()
            self.send_response_only(status)
            for name, value in headers:
                if name.lower() not in ("content-length", "transfer-encoding", "connection") or (
                    name.lower() == "content-length" and self.command == "HEAD"
                ):
                    self.send_header(name, value)
            if self.command != "HEAD":
                self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            if self.command != "HEAD":
                self.wfile.write(content)

        do_GET = do_PUT = do_HEAD = do_POST = do_DELETE = answer

        def log_message(self, *_: object) -> None:
            pass

    class Server(ThreadingHTTPServer):
        daemon_threads = True

        def handle_error(self, *_: object) -> None:
            pass

    server = Server(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield server.server_address[1], counts
    finally:
        server.shutdown()
        server.server_close()


def settings(port: int) -> dict[str, str]:
    """Variables of the environment that lead to a server."""
    return KEYS | {
        "AWS_ENDPOINT_URL": f"http://127.0.0.1:{port}",
        "AWS_EC2_METADATA_DISABLED": "true",
        "HOME": os.devnull,
    }
