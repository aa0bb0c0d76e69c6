"""A Pecia that is about to be killed: it remembers one text after the other until it is.

Run as `python -m tests.features.memory.victim`, with the three logins and the home on stdin.
It says `acked TEXT` after each answer.
"""

import os
import sys
from pathlib import Path

import anyio
import orjson

from pecia.kernel.store.cluster import DatabaseLogins
from tests.features.memory.conftest import open_memories


async def main() -> None:
    given = orjson.loads(sys.stdin.buffer.read())
    logins = DatabaseLogins(given["owner"], given["app"], given["system"])
    async with open_memories(logins, Path(given["home"])) as memories:
        number = 0
        while True:
            number += 1
            text = f"Victim fact {number} is about {number * 7919}."
            await memories.remember(memories.ana, text)
            # At once: a dead process flushes nothing.
            os.write(1, f"acked {text}\n".encode())


if __name__ == "__main__":
    anyio.run(main)
