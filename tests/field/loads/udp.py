# SPDX-License-Identifier: Apache-2.0
"""A server that sleeps before it echoes, and a client: udp.py SERVER_PORT REQUESTS SLEEP_MS. Both are in this run."""
import os
import socket
import sys
import time

port, requests, sleep_s = int(sys.argv[1]), int(sys.argv[2]), float(sys.argv[3]) / 1000
server = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
server.bind(("127.0.0.1", port))
if os.fork() == 0:
    for _ in range(requests):
        data, peer = server.recvfrom(100)
        time.sleep(sleep_s)
        server.sendto(data, peer)
    os._exit(0)
client = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
for _ in range(requests):
    client.sendto(b"x", ("127.0.0.1", port))
    client.recvfrom(100)
os.wait()
