"""What a call over MCP costs: CPU of one process per request, in process and without sockets.

The bare SDK with one handler, FastMCP, and Pecia with HTTP, MCP, dispatcher and audit: the same
request, at 1, 60 and 1,000 tools, in both eras, in one run.
"""

import json
import subprocess
import tempfile
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import anyio
import anyio.to_thread

from bench import result
from bench.serving.asgi import COUNTS, costs
from bench.serving.baselines import OURS, THEIRS, bare, bench_tools, opened, ours
from bench.serving.fastmcp_venv import ROOT, fastmcp_python
from pecia.app.app import App

RIVAL_LIMIT_S = 1800


async def measure(app: App) -> dict[str, Any]:
    rival = await anyio.to_thread.run_sync(fastmcp_costs)
    figures: dict[str, Any] = {"fastmcp": rival.pop("version", None) or rival.pop("missing")}
    for count in COUNTS:
        tools = bench_tools(count)
        async with AsyncExitStack() as stack:
            apps = {
                "bare": (await bare(tools, stack, only_json=False), THEIRS),
                "bare_json": (await bare(tools, stack, only_json=True), THEIRS),
                "pecia": (await ours(app, tools, stack), OURS),
            }
            found = {name: await costs(*it, count) for name, it in apps.items()}
            await app.audit_log.drain()
        if f"{count}_tools" in rival:
            found["fastmcp"] = rival[f"{count}_tools"]
        figures[f"{count}_tools"] = {what: _compared(found, what) for what in found["pecia"]}
    return figures


def fastmcp_costs() -> dict[str, Any]:
    """FastMCP's figures; where it cannot be installed, why."""
    python, why_not = fastmcp_python()
    if python is None:
        return {"missing": why_not}
    words = [str(python), "-m", "bench.serving.fastmcp_app", "cpu"]
    done = subprocess.run(
        words, cwd=ROOT, capture_output=True, text=True, timeout=RIVAL_LIMIT_S, check=False
    )
    if done.returncode:
        return {"missing": f"FastMCP did not run: {done.stderr[-500:]}"}
    return json.loads(done.stdout.splitlines()[-1])


def _compared(found: dict[str, dict[str, float]], what: str) -> dict[str, float]:
    each = {f"{name}_us": it[what] for name, it in found.items()}
    return {
        **each,
        "over_us": round(each["pecia_us"] - each["bare_us"], 1),
        "over_json_us": round(each["pecia_us"] - each["bare_json_us"], 1),
    }


async def run(home: Path) -> dict[str, Any]:
    async with opened(home) as app:
        return await measure(app)


def main() -> Path:
    with tempfile.TemporaryDirectory() as folder:
        return result.write("mcp", anyio.run(run, Path(folder)))
