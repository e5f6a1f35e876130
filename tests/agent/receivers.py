# SPDX-License-Identifier: Apache-2.0
"""Receivers of uploads on 127.0.0.1, which answer as they are told, and agents that send to them."""
import http.server
import os
import select
import socket as sockets
import ssl
import subprocess
import sys
import threading

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(os.path.dirname(HERE), "cmd"))

from programs import BUILD, WAIT_SECONDS, ProgramTest

AGENT = os.path.join(BUILD, "wcprof-agent")
# In files with secrets: never in what the agent says.
SECRET = "hunter2-hunter2"


class Request:
    def __init__(self, path, headers, body):
        self.path, self.headers, self.body = path, headers, body


class Receiver:
    """Keeps requests; `answers` are functions of the handler, used one after the other, the last one for ever."""

    def __init__(self, *answers, context=None, address="127.0.0.1", unix=None):
        self.requests, self.answers, self.event = [], list(answers) or [ok], threading.Condition()
        outer = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self):
                body = self.rfile.read(int(self.headers["Content-Length"]))
                with outer.event:
                    outer.requests.append(Request(self.path, self.headers, body))
                    answer = outer.answers.pop(0) if len(outer.answers) > 1 else outer.answers[0]
                    outer.event.notify_all()
                answer(self)

            def address_string(self):
                return "client"

            def log_message(self, *_):
                pass

        class Server(http.server.ThreadingHTTPServer):
            daemon_threads = True
            address_family = sockets.AF_UNIX if unix else sockets.AF_INET

            def server_bind(self):
                self.socket.bind(self.server_address)
                if unix:
                    self.server_name, self.server_port = "unix", 0
                else:
                    self.server_address = self.socket.getsockname()
                    self.server_name, self.server_port = self.server_address[:2]

            def handle_error(self, *_):
                """Clients that hang up are what is tested."""

        self.server = Server(unix or (address, 0), Handler)
        if context:
            self.server.socket = context.wrap_socket(self.server.socket, server_side=True)
        self.port = self.server.server_port
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def wait(self, count):
        """The first requests, once there are so many."""
        with self.event:
            if not self.event.wait_for(lambda: len(self.requests) >= count, WAIT_SECONDS):
                raise AssertionError(f"{len(self.requests)} of {count} requests in time")
            return self.requests[:count]

    def close(self):
        self.server.shutdown()
        self.server.server_close()


def answer_with(status, body=b"{}", **headers):
    def answer(handler):
        handler.send_response(status)
        for name, value in headers.items():
            handler.send_header(name.replace("_", "-"), value)
        handler.send_header("Content-Length", str(len(body)))
        handler.end_headers()
        handler.wfile.write(body)
    return answer


def ok(handler):
    answer_with(200)(handler)


def half(handler):
    """An answer that ends too early."""
    handler.send_response(200)
    handler.send_header("Content-Length", "1000")
    handler.end_headers()
    handler.wfile.write(b"half")
    handler.close_connection = True


def nothing(handler):
    """Hangs up."""
    handler.connection.shutdown(sockets.SHUT_RDWR)
    handler.close_connection = True


def silence(handler):
    """Says nothing until the client hangs up."""
    select.select([handler.connection], [], [], WAIT_SECONDS)


class AgentTest(ProgramTest):
    def setUp(self):
        super().setUp()
        os.mkdir(self.path("store"), 0o700)
        self.log = self.path("log")
        self.metrics_file = self.path("wcprof.prom")
        with open(self.path("secret"), "w", encoding="utf-8") as file:
            file.write(SECRET + "\n")
        self.addCleanup(self.check_log)

    def said(self):
        if not os.path.exists(self.log):
            return ""
        with open(self.log, encoding="utf-8") as file:
            return file.read()

    def check_log(self):
        self.assertNotIn(SECRET, self.said())

    def receiver(self, *answers, **more):
        made = Receiver(*answers, **more)
        self.addCleanup(made.close)
        return made

    def configure(self, text, rule=None, **keys):
        """A configuration that finds this test's programs, often, and not those of others; `text` has sections."""
        rule = rule or f"command = {os.path.basename(self.here)}"
        keys = {"interval_s": 1, "scan_s": 1, "analysis_s": 3600, "store": self.path("store"),
                "metrics_file": self.metrics_file, **keys}
        lines = "".join(f"{key} = {value}\n" for key, value in keys.items())
        with open(self.path("conf"), "w", encoding="utf-8") as file:
            file.write(f"{lines}[process]\n{rule}\nbudget = 100%\n{text}\n")

    def start_agent(self, *before, **variables):
        with open(self.log, "ab") as log:
            # Its analyses are of the idle class. Where CPUs are shared out by session, they get some in their own.
            agent = subprocess.Popen([*before, AGENT, "-c", self.path("conf")], stderr=log, start_new_session=True,
                                     env=dict(self.environment, **variables))
        self.addCleanup(agent.wait)
        self.addCleanup(agent.kill)
        return agent

    def metric(self, name):
        """As the file has it; 0 without one."""
        try:
            with open(self.metrics_file, encoding="utf-8") as file:
                values = dict(line.split() for line in file if not line.startswith("#"))
        except FileNotFoundError:
            return 0
        return float(values[f"wcprof_agent_{name}"])

    def busy(self, program="python3", **variables):
        """A program that waits and works until it is ended."""
        return self.start(program, "-S", "-E", "-c", """
import os, threading, time
fd, lock = os.open("/dev/zero", os.O_RDONLY), threading.Lock()
print("ready", flush=True)
def work():
    while True:
        with lock:
            os.read(fd, 1)
            time.sleep(0.001)
threading.Thread(target=work, daemon=True).start()
work()
""", self.here, **variables)


def tls(folder, name):
    """A key and its certificate for an address, and a server's context with them."""
    key, certificate = f"{folder}/{name}.key", f"{folder}/{name}.crt"
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes",
                    "-keyout", key, "-out", certificate, "-subj", "/CN=test", "-addext", f"subjectAltName={name}"],
                   check=True, capture_output=True)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    return certificate, context
