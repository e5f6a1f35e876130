# SPDX-License-Identifier: Apache-2.0
"""Puts jobs into a work queue from several connections: beanstalk.py PORT CLIENTS JOBS."""
import socket
import sys
import threading


def put(port, jobs):
    with socket.create_connection(("127.0.0.1", port)) as one:
        for _ in range(jobs):
            one.sendall(b"put 1 0 60 100\r\n" + b"x" * 100 + b"\r\n")
            answer = b""
            while not answer.endswith(b"\r\n"):
                answer += one.recv(100)
            assert answer.startswith(b"INSERTED"), answer


port, clients, jobs = map(int, sys.argv[1:])
threads = [threading.Thread(target=put, args=(port, jobs // clients)) for _ in range(clients)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
