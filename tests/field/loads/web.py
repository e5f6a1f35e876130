# SPDX-License-Identifier: Apache-2.0
"""A web server of Python's library, one thread for each connection: web.py PORT SLEEP_MS LOCKED_MS COUNT.

A request sleeps, sleeps under a lock that all requests take, and adds up COUNT numbers.
"""
import http.server
import sys
import threading
import time

port, count = int(sys.argv[1]), int(sys.argv[4])
sleep_s, locked_s = float(sys.argv[2]) / 1000, float(sys.argv[3]) / 1000
lock = threading.Lock()


def query():
    time.sleep(sleep_s)


def update():
    with lock:
        time.sleep(locked_s)


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self):
        if sleep_s:
            query()
        if locked_s:
            update()
        body = b"%d" % sum(range(count))
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


class Server(http.server.ThreadingHTTPServer):
    request_queue_size = 128        # as many clients come at once


Server(("127.0.0.1", port), Handler).serve_forever()
