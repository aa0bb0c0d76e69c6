"""Load clients, in a process of their own: many slow ones, a greedy one and a polite one.

`python -m bench.serving.load_clients` takes a line `[port, tokens, seconds, parallel]`, the polite
one's token first and the greedy one's second, and answers with what each saw. It imports nothing of
ours.
"""

import asyncio
import json
import random
import sys
import time
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

from bench.serving.asgi import request

WORDS = ("report", "river", "market", "engine", "harbour", "winter", "signal", "copper", "garden")
SAID = ("RATE_LIMITED", "UNAVAILABLE")
PACE_S = 10.0
"""The interval of each of the many."""
ONE_S = 1.0
"""The interval of the polite client."""


@dataclass(slots=True)
class Tally:
    """What some clients saw."""

    counts: Counter[str] = field(default_factory=Counter[str])
    took_ms: list[float] = field(default_factory=list[float])
    failures: Counter[str] = field(default_factory=Counter[str])

    def figures(self) -> dict[str, Any]:
        ranked = sorted(self.took_ms)
        at = {"p50_ms": 0.5, "p95_ms": 0.95, "p99_ms": 0.99}
        found = {name: round(ranked[int(it * len(ranked))], 1) for name, it in at.items() if ranked}
        return {"counts": dict(self.counts), **found, "failures": dict(self.failures)}


@dataclass(slots=True)
class Client:
    """One user on one connection, which is opened again where the server closed it."""

    port: int
    token: str
    tally: Tally
    streams: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None

    async def ask(self, name: str) -> float:
        """One request; the seconds to wait before the next, if the server says so."""
        began = time.perf_counter()
        try:
            status, headers, body = await self._exchange(*_question(name, self.token))
        except (OSError, asyncio.IncompleteReadError, ValueError) as error:
            self.streams = None
            self.tally.failures[type(error).__name__] += 1
            return 1.0
        outcome, wait_s = _read(status, headers, body)
        self.tally.counts[outcome] += 1
        if outcome == "200":
            self.tally.took_ms.append((time.perf_counter() - began) * 1000)
        elif not wait_s:
            self.tally.failures[f"{outcome} {body[:200].decode('utf-8', 'replace')}"] += 1
        return wait_s

    async def _exchange(self, path: str, head: dict[str, str], body: bytes) -> Any:
        lines = [f"POST {path} HTTP/1.1", *(f"{it}: {value}" for it, value in head.items())]
        lines.append(f"content-length: {len(body)}")
        data = "\r\n".join(lines).encode() + b"\r\n\r\n" + body
        for attempt in (1, 2):
            is_fresh = self.streams is None
            reader, writer = self.streams or await asyncio.open_connection("127.0.0.1", self.port)
            self.streams = reader, writer
            try:
                writer.write(data)
                return await _answer(reader)
            except (OSError, asyncio.IncompleteReadError):
                # An idle connection may have been closed by the server just now.
                self.streams = None
                if is_fresh or attempt == 2:
                    raise
        raise AssertionError


async def _answer(reader: asyncio.StreamReader) -> tuple[int, dict[str, str], bytes]:
    head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
    headers = dict(it.lower().split(": ", 1) for it in head[1:] if it)
    body = await reader.readexactly(int(headers["content-length"]))
    return int(head[0].split()[1]), headers, body


def _question(name: str, token: str) -> tuple[str, dict[str, str], bytes]:
    bearer = {"authorization": f"Bearer {token}", "host": "127.0.0.1"}
    if name == "whoami":
        return "/api/v1/admin/whoami", {**bearer, "content-type": "application/json"}, b"{}"
    query = " ".join(random.choices(WORDS, k=3))
    asked = {"name": "search_content", "arguments": {"query": query, "limit": 10}}
    head, body = request("tools/call", asked, "modern")
    return "/mcp/lake", {**head, **bearer, "accept": "application/json"}, body


def _read(status: int, headers: dict[str, str], body: bytes) -> tuple[str, float]:
    """How it went, and the seconds that a refusal says to wait."""
    if status != 200:
        said = headers.get("retry-after")
        return str(status), float(said) if status in (429, 503) and said else 0.0
    found = json.loads(body)
    if "error" in found:
        return f"rpc {found['error'].get('code')}", 0.0
    result = found.get("result", {})
    if not result.get("isError"):
        return "200", 0.0
    error = result.get("structuredContent", {}).get("error", {})
    wait_s = error.get("retry_after_seconds", 0) if error.get("code") in SAID else 0
    return f"tool {error.get('code')}", float(wait_s)


async def many(client: Client, until: float) -> None:
    """Calls now and then, mostly something cheap."""
    await asyncio.sleep(random.uniform(0, min(PACE_S, until - time.monotonic())))
    while time.monotonic() < until:
        wait_s = await client.ask("whoami" if random.random() < 0.7 else "search")
        await asyncio.sleep(wait_s or random.uniform(0.5, 1.5) * PACE_S)


async def greedy(client: Client, until: float) -> None:
    """Calls again as soon as it is answered, or allowed to."""
    while time.monotonic() < until:
        wait_s = await client.ask("search")
        await asyncio.sleep(wait_s)


async def polite(client: Client, until: float) -> None:
    while time.monotonic() < until:
        began = time.monotonic()
        wait_s = await client.ask("search")
        await asyncio.sleep(max(wait_s, ONE_S - (time.monotonic() - began), 0))


async def played(port: int, tokens: list[str], seconds: float, parallel: int) -> dict[str, Any]:
    first, second, *rest = tokens
    tallies = {name: Tally() for name in ("polite", "greedy", "many")}
    until = time.monotonic() + seconds
    await asyncio.gather(
        polite(Client(port, first, tallies["polite"]), until),
        *(greedy(Client(port, second, tallies["greedy"]), until) for _ in range(parallel)),
        *(many(Client(port, it, tallies["many"]), until) for it in rest),
    )
    return {name: it.figures() for name, it in tallies.items()}


def main() -> None:
    for line in sys.stdin:
        print(json.dumps(asyncio.run(played(*json.loads(line)))), flush=True)


if __name__ == "__main__":
    main()
