"""A `pecia start` of its own, and a client that calls its memory tools over MCP."""

import json
import os
import time
from base64 import b64encode
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import httpx
import psutil

from bench.ingestion.local import Pecia
from pecia.interfaces.mcp.request_context import SESSION_HEADER

PATH = "/mcp/memory"
HEADERS = {"content-type": "application/json", "accept": "application/json, text/event-stream"}
# A bench meets no rate limit.
ENVIRONMENT = {
    "PECIA_PRINCIPAL_RATE_PER_S": "1000000",
    "PECIA_PRINCIPAL_BURST": "1000000",
    "PECIA_ADDRESS_RATE_PER_S": "1000000",
    "PECIA_ADDRESS_BURST": "1000000",
}
MAX_TEXTS = 50
# CPU that all processes spend in a second without work, and for how many seconds that is awaited.
MAX_IDLE_CPU_S, MAX_RESTS = 0.15, 1800


@dataclass(frozen=True, slots=True)
class MemoryClient:
    """Calls tools in a session with its own collection."""

    http: httpx.Client
    processes: Callable[[], list[psutil.Process]]
    session: Mapping[str, str] = field(default_factory=dict[str, str])

    def cpu_s(self) -> float:
        """CPU seconds of the server, its workers and its database, since they started."""
        spent = 0.0
        for root in self.processes():
            for it in (root, *root.children(recursive=True)):
                with suppress(psutil.NoSuchProcess):
                    times = it.cpu_times()
                    spent += times.user + times.system
        return spent

    def within(self, collection: str) -> "MemoryClient":
        return replace(self, session={"VECTOR_STORE_COLLECTION": collection})

    def call(self, tool: str, **arguments: Any) -> dict[str, Any]:
        params = {"name": tool, "arguments": arguments}
        message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
        held = b64encode(json.dumps(dict(self.session)).encode()).decode()
        headers = {**HEADERS, SESSION_HEADER: held}
        answer = self.http.post(PATH, json=message, headers=headers)
        text = answer.text
        if not text.startswith("{"):
            lines = [it[6:] for it in text.splitlines() if it.startswith("data: ")]
            text = next(it for it in reversed(lines) if it.strip())
        result = json.loads(text)["result"]
        if result.get("isError"):
            raise RuntimeError(f"{tool}: {result['structuredContent']}")
        return result["structuredContent"]

    def store(self, texts: Sequence[str], **more: Any) -> list[dict[str, Any]]:
        """Store texts, in order, as many at a time as a call takes."""
        made: list[dict[str, Any]] = []
        for at in range(0, len(texts), MAX_TEXTS):
            part = [*texts[at : at + MAX_TEXTS]]
            tool = "cipher_extract_and_operate_memory"
            made += self.call(tool, interaction=part, **more)["memory"]
        return made

    def search(self, query: str, top_k: int = 10, **more: Any) -> list[dict[str, Any]]:
        asked = {"query": query[:1000], "top_k": top_k, **more}
        return self.call("cipher_memory_search", **asked)["results"]

    def ask(self, message: str) -> dict[str, Any]:
        return self.call("ask_cipher", message=message)

    def listed(self, **more: Any) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = []
        cursor = None
        while True:
            page = self.call("memory_list", limit=200, cursor=cursor, **more)
            found += page["memories"]
            cursor = page["next_cursor"]
            if cursor is None:
                return found

    def settle(self) -> None:
        """Wait until the index and the vectors hold what was stored."""
        for _ in range(600):
            asked = {"query": "anything", "source_id": "memory", "limit": 1}
            found = self.http.post("/api/v1/lake/search_content", json=asked).json()
            if not found.get("degraded"):
                break
            time.sleep(0.2)

    def rest(self) -> None:
        """Wait until nothing works in the background: a search tells of the newest texts alone
        whether they are embedded, and an import leaves most to the job."""
        self.settle()
        before = self.cpu_s()
        for _ in range(MAX_RESTS):
            time.sleep(1)
            now = self.cpu_s()
            if now - before < MAX_IDLE_CPU_S:
                return
            before = now


@contextmanager
def serving(place: Path) -> Generator[MemoryClient]:
    os.environ.update(ENVIRONMENT)
    with Pecia(place) as pecia, httpx.Client(base_url=pecia.url, timeout=300) as http:
        yield MemoryClient(http, pecia.processes)
