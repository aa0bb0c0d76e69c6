"""A made cascade of three layers at two sizes: cold open to the first search, read, edit, memory.

`python -m bench cascade`. The size grows tenfold, so that what grows with it can be seen.
`python -m bench.cascade eval FOLDER` runs the questions of the public three-layer evaluation
(ContextCake, `packages/core/eval`, MIT), which is fetched and never kept here.
"""

import json
import random
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable, Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import anyio

from bench import result
from pecia.adapters.connectors.filesystem.change_buffer import FolderChangeBuffer
from pecia.features.cascade.cascade import Cascade
from pecia.features.cascade.core.render import effective_json
from pecia.features.cascade.core.view import CascadeView
from pecia.features.cascade.layers.factory import build_layers
from pecia.features.cascade.manifest import read_manifest
from pecia.features.cascade.ports import CascadePorts
from pecia.features.cascade.search import ConceptSearcher

SIZES = (6_000, 60_000)
READS, SEARCHES, EDITS = 300, 200, 10

SHARES = {"company": (0, 0.80), "team": (2, 0.35), "personal": (3, 0.10)}
"""Level, and the share of all concepts that the layer holds."""

_VOCABULARY = """
account adapter alert archive audit backfill backup batch billing bridge broker bucket
budget build cache calendar capacity catalog channel check claim client cluster column
commit config consumer contract cookie counter cursor customer dashboard database deadline
decision default delivery deploy design device digest domain driver duty editor effect
engine entry error event export factor failure feature filter firewall folder format gateway
graph guard handler header health history holiday import incident index invoice issue
journal kernel label lambda latency layer ledger library license limit listener locale
logger lookup machine manifest market memory message metric migration mirror model monitor
network notice number object office offset order outage output owner packet parser partner
patch payment pipeline platform policy portal printer priority process product profile
project protocol provider proxy query queue quota record region register release replica
report request restore retention review rollback router runbook sample schedule schema
script search secret sensor server service session shard shipment signal snapshot socket
source space stage standard station status storage stream subnet support switch system table
target tenant thread ticket token topic trace traffic transfer trigger tunnel update upload
vendor version volume warehouse window worker workflow zone
"""
WORDS = _VOCABULARY.split()
SMALL = ("the", "of the", "and", "is in the", "for a", "to", "with every", "must", "never", "new")
KINDS = ("decision", "runbook", "system", "policy", "note", "standard")


def main() -> dict[str, Any]:
    """Every size in a process of its own, so that memory is its own."""
    figures = {str(size): _measured(size) for size in SIZES}
    small, large = (figures[str(it)] for it in SIZES)
    grown = {
        name: round(large[name] / small[name], 1)
        for name in ("ready_cpu_s", "read_p50_ms", "search_p50_ms", "memory_mib")
    }
    found = {"sizes": figures, "growth_for_ten_times": grown}
    result.write("cascade", found)
    return found


def _measured(size: int) -> dict[str, Any]:
    with tempfile.TemporaryDirectory(prefix="cascade-") as folder:
        documents = make(Path(folder), size)
        words = [sys.executable, "-m", "bench.cascade", folder]
        done = subprocess.run(words, check=True, capture_output=True, text=True)
    return {"concepts": size, "documents": documents, **json.loads(done.stdout)}


async def measure(folder: Path) -> dict[str, Any]:
    """The figures of one cascade. Wall and CPU apart: the machine may have other work."""
    manifest = read_manifest(folder / "manifest.json")
    ports = CascadePorts(watch=FolderChangeBuffer)
    cascade = Cascade(manifest, build_layers(manifest, ports, trusted=False), ports)
    searcher = ConceptSearcher()
    figures: dict[str, Any] = {}
    reports = [time.perf_counter()]

    def report(done: int, total: int) -> None:
        reports.append(time.perf_counter())

    async def open_all() -> None:
        await cascade.open(report)
        await cascade.view(manifest.names)

    async def index_all() -> None:
        await searcher.get_index(await cascade.view(manifest.names), report)

    for name, step in (("open", open_all), ("index", index_all)):
        figures |= await _timed(name, step)
    # Cold open: from nothing to the first search.
    for unit in ("s", "cpu_s"):
        figures[f"ready_{unit}"] = round(figures[f"open_{unit}"] + figures[f"index_{unit}"], 2)
    # How often a progress bar moves meanwhile, and how long it ever stands still.
    figures["progress_told"] = len(reports) - 1
    figures["progress_longest_s"] = round(max(b - a for a, b in pairwise(reports)), 2)
    view = await cascade.view(manifest.names)
    figures["memory_mib"] = _memory_mib()
    figures |= await _repeated(cascade, searcher, view)
    figures |= await _edits(cascade, searcher, view, folder)
    cascade.close()
    return figures


async def evaluate(folder: Path) -> dict[str, Any]:
    """Recall and reciprocal rank of a set of questions, and whether dissent survives."""
    manifest = read_manifest(folder / "manifest.json")
    cascade = Cascade(manifest, build_layers(manifest, CascadePorts(), trusted=False))
    view, searcher = await cascade.view(manifest.names), ConceptSearcher()
    questions = json.loads((folder / "questions.json").read_text(encoding="utf-8"))["questions"]
    ranks: list[int] = []
    kept: list[bool] = []
    for it in questions:
        found = [hit["id"] for hit in await searcher.search(view, it["question"], 10)]
        ranks.append(next((n for n, hit in enumerate(found, 1) if hit in it["expect"]), 1_000))
        if wanted := it.get("conflict"):
            sections = view.effective(wanted["concept"]).sections
            against = {dissent.layer for section in sections for dissent in section.conflicts}
            kept.append(set(wanted["layers"]) <= against)
    return {
        "questions": len(ranks),
        "recall_at_1": round(sum(it == 1 for it in ranks) / len(ranks), 3),
        "recall_at_5": round(sum(it <= 5 for it in ranks) / len(ranks), 3),
        "mrr": round(sum(1 / it for it in ranks) / len(ranks), 3),
        "conflict": round(sum(kept) / len(kept), 3),
    }


async def _timed(name: str, step: Callable[[], Awaitable[None]]) -> dict[str, float]:
    wall, cpu = time.perf_counter(), time.process_time()
    await step()
    return {
        f"{name}_s": round(time.perf_counter() - wall, 2),
        f"{name}_cpu_s": round(time.process_time() - cpu, 2),
    }


async def _repeated(
    cascade: Cascade, searcher: ConceptSearcher, view: CascadeView
) -> dict[str, float]:
    dice = random.Random(1)
    some = dice.sample(view.ids, READS)
    queries = [" ".join(dice.sample(WORDS, 3)) for _ in range(SEARCHES)]

    async def read(concept: str) -> None:
        await cascade.refresh_concept(concept)
        effective_json(view.effective(concept))

    async def links(concept: str) -> None:
        view.outgoing_links(concept)
        view.incoming_links(concept)

    async def search(query: str) -> None:
        await searcher.search(view, query, 10)

    await links(some[0])
    return {
        **await _p50("read", read, some),
        **await _p50("links", links, some),
        **await _p50("search", search, queries),
    }


async def _p50(
    name: str, step: Callable[[str], Awaitable[None]], things: list[str]
) -> dict[str, float]:
    walls: list[float] = []
    started = time.process_time()
    for it in things:
        wall = time.perf_counter()
        await step(it)
        walls.append((time.perf_counter() - wall) * 1000)
    cpu = (time.process_time() - started) / len(things) * 1000
    return {
        f"{name}_p50_ms": round(statistics.median(walls), 2),
        f"{name}_mean_cpu_ms": round(cpu, 2),
    }


async def _edits(
    cascade: Cascade, searcher: ConceptSearcher, view: CascadeView, folder: Path
) -> dict[str, float]:
    """How long after a file was written its new word is found by search."""
    took: list[float] = []
    for number in range(EDITS):
        document = view.contributions(view.ids[number * 7])[0]
        word = f"zyxqv{'abcdefghij'[number]}"
        started = time.perf_counter()
        place = folder / document.layer / document.document.path
        place.write_text(f"{document.document.text}\n\n{word}\n", encoding="utf-8")
        while not await searcher.search(view, word, 1):
            await cascade.refresh()
            await anyio.sleep(0.01)
        took.append(time.perf_counter() - started)
    return {"edit_found_p50_s": round(statistics.median(took), 3)}


def _memory_mib() -> int:
    pages = Path("/proc/self/statm").read_text(encoding="ascii").split()[1]
    return int(pages) * 4096 // 2**20


def make(folder: Path, size: int) -> int:
    """Write the layers and their manifest; how many documents that took."""
    dice = random.Random(size)
    written = 0
    ids = [f"{dice.choice(KINDS)}s/{dice.choice(WORDS)}/{name}" for name in _names(dice, size)]
    for concept in ids:
        holding = [it for it, (_, share) in SHARES.items() if dice.random() < share]
        # Whatever no other layer holds is the company's.
        for layer in holding or ["company"]:
            place = folder / layer / f"{concept}.md"
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_text(_document(dice, layer, concept, ids), encoding="utf-8")
            written += 1
    layers = [{"name": it, "level": level, "path": it} for it, (level, _) in SHARES.items()]
    (folder / "manifest.json").write_text(json.dumps({"layers": layers}), encoding="utf-8")
    return written


def _names(dice: random.Random, size: int) -> Iterator[str]:
    for number in range(size):
        yield f"{dice.choice(WORDS)}-{dice.choice(WORDS)}-{number}"


def _document(dice: random.Random, layer: str, concept: str, ids: list[str]) -> str:
    title = concept.rpartition("/")[2].replace("-", " ").capitalize()
    day = f"2026-{dice.randint(1, 9):02}-{dice.randint(10, 28)}"
    head = [
        f"type: {concept.partition('s/')[0]}",
        f"title: {title}",
        f"description: {_sentence(dice)}",
        f"tags: [{dice.choice(WORDS)}, {dice.choice(WORDS)}]",
        f"updated: {day}",
    ]
    # Some documents have the nested keys of OKF 0.2, which cost more to read.
    if dice.random() < 0.1:
        head += ["generated:", "  by: human:bench", f"  at: {day}T00:00:00Z"]
    body = [_section(dice, key, ids) for key in ("Purpose", "Steps", "Owner", "Limits")]
    keep = body if layer == "company" else dice.sample(body, 2)
    return "---\n" + "\n".join(head) + "\n---\n\n" + "\n\n".join(keep) + "\n"


def _section(dice: random.Random, key: str, ids: list[str]) -> str:
    said = " ".join(_sentence(dice) for _ in range(dice.randint(2, 4)))
    other = dice.choice(ids)
    link = f"See [[{other}]]." if dice.random() < 0.5 else f"See [more](/{other}.md)."
    return f"## {key} {{#{key.lower()}}}\n\n{said}\n\n{link}"


def _sentence(dice: random.Random) -> str:
    pairs = range(dice.randint(4, 8))
    return " ".join(f"{dice.choice(SMALL)} {dice.choice(WORDS)}" for _ in pairs) + "."


if __name__ == "__main__":
    if sys.argv[1] == "eval":
        print(result.write("cascade-search", anyio.run(evaluate, Path(sys.argv[2]))))
    else:
        print(json.dumps(anyio.run(measure, Path(sys.argv[1]))))
