"""Pecia beside ContextCake: the same SciFact files, each asked through its own MCP search.

ContextCake (MIT, npm `contextcake`) is run with Node and never kept here: PECIA_BENCH_CONTEXTCAKE
is its `bin/contextcake.mjs`. PECIA_BENCH_FILES is how many files there are (2,000): all that were
judged for a query, then others in their order. Queries are the test queries of SciFact.
Each server has its default limit: ContextCake gives ten hits, Pecia at `/mcp/lake` twenty chunks.
PECIA_BENCH_URL is a Pecia that has just those files already.
"""

import json
import os
import subprocess
import tempfile
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from bench import result
from bench.ingestion.asked import ask, wait_until_indexed
from bench.ingestion.local import Pecia
from bench.memories.server import ENVIRONMENT
from bench.retrieval import DATA
from pecia.app.evaluation.beir import BeirCollection, read_collection
from pecia.kernel.corpus.evaluation.metrics import compute_metrics

SOURCE = "abstracts"
FILES = 2000


class ContextCake:
    """Its MCP server on stdio, over one folder."""

    def __init__(self, program: str, place: Path, folder: Path) -> None:
        place.mkdir(parents=True)
        self._environ = {**os.environ, "HOME": str(place), "XDG_CONFIG_HOME": str(place / "config")}
        self._words = ["node", program]
        self._run("init")
        self._run("source", "add", SOURCE, "--kind", "files", "--path", str(folder))
        self._process = subprocess.Popen(
            [*self._words, "mcp"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=self._environ,
            text=True,
        )
        self._number = 0
        about: dict[str, Any] = {"protocolVersion": "2025-06-18", "capabilities": {}}
        self._request("initialize", {**about, "clientInfo": {"name": "bench", "version": "1"}})

    def search(self, query: str) -> list[str]:
        """The files of its hits, best first."""
        answer = self._request("tools/call", {"name": "search", "arguments": {"query": query}})
        hits: list[dict[str, Any]] = json.loads(answer["content"][0]["text"])
        return [Path(str(it["id"])).stem for it in hits]

    def stop(self) -> None:
        self._process.terminate()
        self._process.wait(30)

    def _run(self, *words: str) -> None:
        subprocess.run([*self._words, *words], env=self._environ, check=True, capture_output=True)

    def _request(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._number += 1
        message = {"jsonrpc": "2.0", "id": self._number, "method": method, "params": params}
        self._process.stdin.write(json.dumps(message) + "\n")
        self._process.stdin.flush()
        for line in self._process.stdout:
            said = json.loads(line)
            if said.get("id") == self._number:
                return said["result"]
        raise RuntimeError("ContextCake ended")


def measure(program: str, count: int) -> dict[str, Any]:
    collection = read_collection(DATA / "scifact")
    os.environ.update(ENVIRONMENT)
    with tempfile.TemporaryDirectory(prefix="pecia-peers-") as name, ExitStack() as stack:
        place = Path(name)
        folder = _write(collection, place / SOURCE, count)
        peer = ContextCake(program, place / "peer", folder)
        stack.callback(peer.stop)
        found: dict[str, Any] = {"files": count, "queries": len(collection.queries)}
        found["ContextCake"] = _rate(collection, peer.search)
        print(json.dumps(found), flush=True)
        url = os.environ.get("PECIA_BENCH_URL") or _serve(stack, place / "own", folder, count)
        for mode in ("lexical", "hybrid"):
            found[f"Pecia, {mode}"] = _rate(
                collection, lambda query, mode=mode: _search(url, query, mode)
            )
            print(json.dumps(found), flush=True)
    return found


def _serve(stack: ExitStack, place: Path, folder: Path, count: int) -> str:
    pecia = stack.enter_context(Pecia(place))
    pecia.add_folder(source_id=SOURCE, folder=str(folder), trim_mode="open")
    wait_until_indexed(pecia, SOURCE, count)
    return pecia.url


def _write(collection: BeirCollection, folder: Path, count: int) -> Path:
    folder.mkdir(parents=True)
    judged = {it for found in collection.qrels.values() for it in found}
    first = [it for it in collection.documents if it.id in judged]
    rest = [it for it in collection.documents if it.id not in judged]
    for it in [*first, *rest][:count]:
        (folder / f"{it.id}.md").write_text(f"# {it.title}\n\n{it.text}\n", encoding="utf-8")
    return folder


def _search(url: str, query: str, mode: str) -> list[str]:
    answer = ask(f"{url}/mcp/lake", "search_content", query=query, mode=mode)
    return [Path(it["key"]).stem for it in answer["structuredContent"]["hits"]]


def _rate(collection: BeirCollection, search: Callable[[str], list[str]]) -> dict[str, float]:
    run = {id_: [*dict.fromkeys(search(query))] for id_, query in collection.queries.items()}
    return compute_metrics(run, collection.qrels)


def main() -> Path:
    program = os.environ.get("PECIA_BENCH_CONTEXTCAKE")
    if not program:
        raise SystemExit(f"set PECIA_BENCH_CONTEXTCAKE: {__doc__}")
    count = int(os.environ.get("PECIA_BENCH_FILES", FILES))
    return result.write("peers", measure(program, count))


if __name__ == "__main__":
    print(main())
