"""Public editing traces, typed into live documents by stock editors: is the text theirs, byte for
byte, in both editors, in the file and in the last version?

The traces are those of https://github.com/josephg/editing-traces, `sequential_traces`, in a folder
that PECIA_BENCH_TRACES names; none of them is part of this repository. Two editors (npm's yjs and
y-websocket, each with a socket of its own) type in turns, a portion at a time, each on top of what
it received from the other.
"""

import gzip
import json
import os
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import anyio
import httpx

from bench import result
from bench.wiki import CONTEXT, no_fetch
from pecia.app.app import SETTINGS, App, open_app
from pecia.interfaces.http.server import serve_http
from pecia.kernel.settings.load import load_settings
from tests.faults.wiki_team import StockEditors

FOLDER = "PECIA_BENCH_TRACES"
PORTION = 2000
SPACE = "traces"
EDITORS = ("one", "two")
PATIENCE_S = 600


@dataclass(frozen=True, slots=True)
class EditingTrace:
    name: str
    end: str
    patches: Sequence[tuple[int, int, str]]


def load(path: Path) -> EditingTrace:
    found: dict[str, Any] = json.loads(gzip.decompress(path.read_bytes()))
    assert found["startContent"] == "", "a trace that begins with a text"
    patches = [tuple(patch) for it in found["txns"] for patch in it["patches"]]
    return EditingTrace(path.name.removesuffix(".json.gz"), found["endContent"], patches)


@dataclass(frozen=True, slots=True)
class TraceReplay:
    url: str
    folder: Path

    async def run(self, trace: EditingTrace) -> dict[str, Any]:
        file = self.folder / f"{trace.name}.md"
        file.write_bytes(b"")
        editors = StockEditors(self.url, SPACE)
        began = time.perf_counter()
        try:
            for name in EDITORS:
                await editors.do("open", name=name, room=trace.name)
            await self._type(editors, trace)
            texts: dict[str, str] = await editors.do("texts")
        finally:
            editors.close()
        took = time.perf_counter() - began
        read, version = await self._read(trace.name)
        return {
            "patches": len(trace.patches),
            "bytes": len(trace.end.encode()),
            "s": round(took, 1),
            "editors_equal": {*texts.values()} == {trace.end},
            "answer_equal": read == trace.end,
            "file_equal": file.read_bytes() == trace.end.encode(),
            "version_equal": version == trace.end,
        }

    async def _type(self, editors: StockEditors, trace: EditingTrace) -> None:
        with anyio.fail_after(PATIENCE_S):
            for number, start in enumerate(range(0, len(trace.patches), PORTION)):
                await self._until_same(editors)
                some = trace.patches[start : start + PORTION]
                await editors.do("replay", name=EDITORS[number % 2], patches=some)
            await self._until_same(editors)

    async def _until_same(self, editors: StockEditors) -> None:
        while True:
            texts: dict[str, str] = await editors.do("texts")
            if len({*texts.values()}) == 1 and await editors.do("synced"):
                return
            await anyio.sleep(0.01)

    async def _read(self, name: str) -> tuple[str, str]:
        async with httpx.AsyncClient(base_url=self.url, trust_env=False, timeout=60) as http:
            asked = {"space": SPACE, "path": f"{name}.md"}
            read = (await http.post("/api/v1/wiki/read_document", json=asked)).json()
            asked = {"space": SPACE, "docName": name}
            history = (await http.post("/api/v1/wiki/get_history", json=asked)).json()
            asked = {"space": SPACE, "doc": name, "version": history["entries"][0]["sha"]}
            shown = (await http.get("/wiki/version", params=asked)).json()
        return str(read["content"]), str(shown["text"])


async def run(home: Path, traces: Sequence[EditingTrace]) -> dict[str, Any]:
    folder = home / SPACE
    folder.mkdir()
    flags = {"home": str(home / "pecia"), "principal_rate_per_s": "100000"}
    flags |= {"principal_burst": "100000", "wiki.user_file": str(home / "config.yml")}
    settings = load_settings(SETTINGS, flags=flags, environ={}, project_file=None, user_file=None)
    found: dict[str, Any] = {}
    async with open_app(settings, fetch=no_fetch, report=print) as app:
        await _add_space(app, folder)
        async with serve_http(app, port=0, instance="bench") as where:
            for trace in traces:
                found[trace.name] = await TraceReplay(where.url, folder).run(trace)
                print(trace.name, found[trace.name])
    return {"portion": PORTION, "traces": found}


async def _add_space(app: App, folder: Path) -> None:
    owner = await app.authenticate(None, CONTEXT)
    await app.call(owner, "add_space", {"folder": str(folder)}, CONTEXT)


def main() -> Path | str:
    place = os.environ.get(FOLDER)
    if place is None:
        return f"left out: {FOLDER} names no folder with editing traces"
    traces = [load(it) for it in sorted(Path(place).glob("*.json.gz"))]
    with tempfile.TemporaryDirectory(prefix="pecia-bench-") as home:
        Path(home).chmod(0o755)
        return result.write("wiki-traces", anyio.run(run, Path(home), traces))


if __name__ == "__main__":
    print(main())
