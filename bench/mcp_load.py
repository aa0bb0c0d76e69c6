"""How many calls a second one process answers over sockets, to 1, 8, 64 and 500 clients at once.

Requests a second depend on what else the machine does; the CPU of a request hardly does.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import anyio

from bench import result
from bench.serving.asgi import CALL, ERAS, SCALE, request
from bench.serving.baselines import OURS, THEIRS
from bench.serving.client import load
from bench.serving.fastmcp_venv import fastmcp_python
from bench.serving.process import RunningServer, running

CLIENTS = (1, 8, 64, 500)
TOOLS = 60
SECONDS = max(0.5, 8 * SCALE)


async def measured(server: RunningServer, path: str, eras: Sequence[str]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for era in eras:
        head, body = request(*CALL, era)
        await load(server.port, head, path, body, 1, 0.3)
        for clients in CLIENTS:
            before = server.cpu_s()
            told = await load(server.port, head, path, body, clients, SECONDS)
            cpu = (server.cpu_s() - before) / max(1, told["requests"]) * 1e6
            found[f"{era}_{clients}_clients"] = {**told, "cpu_us": round(cpu, 1)}
    return found


def measure() -> dict[str, Any]:
    python, why_not = fastmcp_python()
    figures: dict[str, Any] = {"tools": TOOLS, "seconds_each": SECONDS}
    with running("pecia", TOOLS) as server:
        figures["pecia"] = anyio.run(measured, server, OURS, ERAS)
    # The bare SDK that has sessions answers the older era only within one.
    with running("bare", TOOLS) as server:
        figures["bare"] = anyio.run(measured, server, THEIRS, ERAS[:1])
    if python is None:
        return {**figures, "fastmcp": why_not}
    with running("fastmcp", TOOLS, python) as server:
        figures["fastmcp"] = anyio.run(measured, server, THEIRS, ERAS)
    return figures


def main() -> Path:
    return result.write("mcp_load", measure())
