# SPDX-License-Identifier: Apache-2.0
"""Reads what programs wrote to a terminal."""
import os


def read_to_end(terminal):
    """All that was written, as bytes, when nobody has the other end any more; a read has a part of it. Closes it."""
    text = b""
    while True:
        try:
            more = os.read(terminal, 65536)
        except OSError:  # nobody has the other end
            break
        if not more:
            break
        text += more
    os.close(terminal)
    return text
