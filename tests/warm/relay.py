"""Hands its streams, environment, folder and words to the warm process; ends as the command did.

Imports little: it stands where `python -m pecia` would stand, so that it must start at once.
"""

import json
import os
import socket
import sys


def main(door: str, *words: str) -> int:
    # Path would take longer to import than all the rest.
    folder = os.getcwd()  # noqa: PTH109
    leads = os.getsid(0) == os.getpid()
    asked = {"words": words, "environ": dict(os.environ), "folder": folder, "leads": leads}
    with socket.socket(socket.AF_UNIX) as line:
        line.connect(door)
        said = json.dumps(asked).encode()
        socket.send_fds(line, [len(said).to_bytes(8, "big")], [0, 1, 2])
        line.sendall(said)
        code = line.recv(16)
    return int(code) if code else 70


if __name__ == "__main__":
    ended = main(*sys.argv[1:])
    if ended < 0:
        os.kill(os.getpid(), -ended)
    sys.exit(ended)
