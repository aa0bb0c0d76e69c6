"""The wiki at ten thousand documents: start, reading, backlinks, edits, a rename, a large edit.

`PECIA_BENCH_DOCUMENTS=100000` measures more. Wall time and CPU of Pecia's process; a thousand
documents link to one, which is read and renamed. Every tool is called through the dispatcher.
"""

import os
import random
import statistics
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import anyio

from bench import result
from pecia.app.app import SETTINGS, App, open_app
from pecia.app.dispatch import RequestContext
from pecia.kernel.errors import Json, UpstreamError
from pecia.kernel.identity.caller import Caller
from pecia.kernel.settings.load import load_settings
from tests.confirming_channel import Person

DOCUMENTS = int(os.environ.get("PECIA_BENCH_DOCUMENTS", "10000"))
INBOUND = 1000
CALLS = 30
LARGE_BYTES = 5_000_000
HUB = "d000/hub"
TARGETS = {
    "read_document ms": 10,
    "get_backlinks ms": 5,
    "edit_document ms": 50,
    "rename s": 3,
    "edit of 5 MB s": 2,
}
CONTEXT = RequestContext("bench", client_ip="127.0.0.1", channel=Person())
FIRST_CONTEXT = replace(CONTEXT, timeout_s=60.0)
WORDS = [f"{a}{b}{c}" for a in "bdfgklmnprst" for b in "aeiou" for c in ("ra", "no", "su", "kel")]


async def no_fetch(url: str) -> bytes:
    raise UpstreamError(url)


def fill(folder: Path, documents: int) -> None:
    """A hub, documents in folders of a hundred, and links among them; every tenth to the hub."""
    dice = random.Random(7)
    for number in range(documents):
        place = folder / _path(number)
        place.parent.mkdir(exist_ok=True)
        place.write_text(_text(dice, number, documents), encoding="utf-8")
    (folder / f"{HUB}.md").write_text("# The hub\n\nWhere many links lead.\n", encoding="utf-8")


def _path(number: int) -> str:
    return f"d{number // 100:03}/n{number:06}.md"


def _text(dice: random.Random, number: int, documents: int) -> str:
    links = [f"[[n{dice.randrange(documents):06}]]" for _ in range(3)]
    if number < INBOUND:
        links.append(f"[[{HUB}]]" if number % 2 else "[the hub](../d000/hub.md)")
    paragraphs = [" ".join(dice.choices(WORDS, k=60)).capitalize() + "." for _ in range(3)]
    tags = ", ".join(dice.choices(WORDS, k=2))
    lead = f"---\ntitle: Note {number}\ntags: [{tags}]\n---\n# Note {number}\n\n"
    return lead + "\n\n".join(paragraphs) + f"\n\nSee {', '.join(links)}.\n"


@dataclass(slots=True)
class Timed:
    """Calls of one kind."""

    wall: list[float]
    cpu: list[float]

    def figures(self, unit: float = 1000) -> dict[str, float]:
        ranked = sorted(self.wall)
        name = "ms" if unit == 1000 else "s"
        return {
            f"p50_{name}": round(statistics.median(ranked) * unit, 2),
            f"p95_{name}": round(ranked[len(ranked) * 95 // 100] * unit, 2),
            f"cpu_p50_{name}": round(statistics.median(self.cpu) * unit, 2),
        }


@dataclass(frozen=True, slots=True)
class WikiBench:
    app: App
    owner: Caller

    async def call(
        self, tool: str, *, context: RequestContext = CONTEXT, **arguments: Json
    ) -> Mapping[str, Any]:
        done = await self.app.call(self.owner, tool, {"space": "notes", **arguments}, context)
        assert isinstance(done.structured, dict)
        return done.structured

    async def timed(
        self, tool: str, asked: Sequence[Mapping[str, Json]], context: RequestContext = CONTEXT
    ) -> Timed:
        took = Timed([], [])
        for arguments in asked:
            wall, cpu = time.perf_counter(), time.process_time()
            await self.call(tool, context=context, **arguments)
            took.wall.append(time.perf_counter() - wall)
            took.cpu.append(time.process_time() - cpu)
        return took

    async def one(
        self, tool: str, *, context: RequestContext = CONTEXT, **arguments: Json
    ) -> dict[str, float]:
        """One call that takes seconds."""
        it = await self.timed(tool, [arguments], context)
        return {"s": round(it.wall[0], 3), "cpu_s": round(it.cpu[0], 3)}

    async def start(self) -> dict[str, Any]:
        """The first calls after a start, and when all is read and indexed."""
        began = time.perf_counter()
        first = await self.one("read_document", context=FIRST_CONTEXT, path=_path(5))
        second = await self.one("list_documents", context=FIRST_CONTEXT, limit=100)
        await self.call("get_backlinks", docName=HUB)
        links = time.perf_counter() - began
        # A write waits for the index.
        await self.call("edit_document", docName="d000/hub", find="Where", replace="There")
        await self.call("edit_document", docName="d000/hub", find="There", replace="Where")
        indexed = round(time.perf_counter() - began, 2)
        # A rename waits for the references, which follow the graph in the background.
        await self.call("rename_document", docName="d000/n000001", newDocName="d000/other")
        await self.call("rename_document", docName="d000/other", newDocName="d000/n000001")
        return {
            "first_call": first,
            "second_call": second,
            "links_read_after_s": round(links, 2),
            "indexed_after_s": indexed,
        }

    async def measured(self, folder: Path) -> dict[str, Any]:
        some = [_path(it * 37 % DOCUMENTS) for it in range(CALLS + 3)]
        names = [it.removesuffix(".md") for it in some]
        found: dict[str, Any] = {}
        asked: list[Mapping[str, Json]] = [{"path": it} for it in some]
        found["read_document"] = (await self.timed("read_document", asked)).figures()
        found["read_hub"] = (await self.timed("read_document", [{"path": f"{HUB}.md"}])).figures()
        asked = [{"docName": it} for it in names]
        found["get_backlinks"] = (await self.timed("get_backlinks", asked)).figures()
        hub: list[Mapping[str, Json]] = [{"docName": HUB}] * CALLS
        found["get_backlinks of the hub"] = (await self.timed("get_backlinks", hub)).figures()
        asked = [{"docName": it, "find": "See ", "replace": "See also "} for it in names]
        found["edit_document"] = (await self.timed("edit_document", asked)).figures()
        asked = [{"path": it} for it in some]
        found["read_document after edits"] = (await self.timed("read_document", asked)).figures()
        fresh: list[Mapping[str, Json]] = [
            {"docName": f"new/n{it}", "markdown": f"# New {it}\n", "position": "replace"}
            for it in range(CALLS)
        ]
        found["write_document, new"] = (await self.timed("write_document", fresh)).figures()
        found["rename, 1000 links"] = await self.one(
            "rename_document", docName=HUB, newDocName="moved/centre"
        )
        found["rename_folder, 100 documents"] = await self.one(
            "rename_folder", fromFolder="d002", toFolder="e002"
        )
        found["edit of 5 MB"] = await self._large(folder)
        return found

    async def _large(self, folder: Path) -> dict[str, Any]:
        dice = random.Random(9)
        lines = [" ".join(dice.choices(WORDS, k=12)) for _ in range(LARGE_BYTES // 60)]
        text = "# Large\n\n" + "\n\n".join(lines)
        (folder / "large.md").write_text(text[:LARGE_BYTES] + "\n\nthe end\n", encoding="utf-8")
        first = await self.one("read_document", path="large.md")
        edits = [
            await self.one(
                "edit_document", docName="large", find="the end", replace=f"the end {it}"
            )
            for it in range(3)
        ]
        return {"first_read": first, "edits": edits}


async def run(home: Path) -> dict[str, Any]:
    folder = home / "notes"
    folder.mkdir()
    fill(folder, DOCUMENTS)
    flags = {"home": str(home / "pecia"), "principal_rate_per_s": "100000"}
    flags |= {"principal_burst": "100000", "wiki.user_file": str(home / "config.yml")}
    # Those that wait until every document is read are measured whole, however many there are. The
    # first call has the deadline that it has everywhere.
    flags |= {"request_timeout_s": "3600", "request_timeout_max_s": "3600"}
    settings = load_settings(SETTINGS, flags=flags, environ={}, project_file=None, user_file=None)
    figures: dict[str, Any] = {"documents": DOCUMENTS, "targets": TARGETS}
    async with open_app(settings, fetch=no_fetch, report=print) as app:
        owner = await _owner(app)
        await app.call(owner, "add_space", {"folder": str(folder)}, CONTEXT)
        figures["cold start"] = await WikiBench(app, owner).start()
    async with open_app(settings, fetch=no_fetch, report=print) as app:
        bench = WikiBench(app, await _owner(app))
        figures["warm start"] = await bench.start()
        figures |= await bench.measured(folder)
    return figures


async def _owner(app: App) -> Caller:
    found = await app.authenticate(None, CONTEXT)
    assert isinstance(found, Caller)
    return found


def main() -> Path:
    with tempfile.TemporaryDirectory(prefix="pecia-bench-") as home:
        # PostgreSQL runs as another user where we are root.
        Path(home).chmod(0o755)
        figures = anyio.run(run, Path(home))
    return result.write("wiki" if DOCUMENTS == 10_000 else f"wiki-{DOCUMENTS}", figures)


if __name__ == "__main__":
    print(main())
