"""Memory through its MCP tools: what is kept, what is found again, and how fast.

The label sets of `bench/memories/labels`; LoCoMo and BEAM from `../shared/data`, beside the
project, with plain BM25 in the same run; latencies at 3,000 memories and, with
`PECIA_BENCH_MEMORIES=100000`, at more. `PECIA_BENCH_PARTS=labels,locomo` runs some parts,
`PECIA_BENCH_CHATS=10:20` those chats of BEAM, `PECIA_BENCH_CONVERSATIONS=0:2` those of LoCoMo.
"""

import os
import random
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from bench import result
from bench.memories.labels import WHOLE, Half, measure_labels
from bench.memories.retrieval import DATA, measure_beam, measure_locomo
from bench.memories.server import MemoryClient, serving

TARGETS = {
    "updates, newest first": 0.9,
    "utterances, precision and recall": 0.9,
    "memories per fact": 1.3,
    "locomo sessions": {"recall@5": 0.92, "mrr": 0.85},
    "locomo turns": {"recall@5": 0.86, "mrr": 0.78},
    "beam recall@10": 0.55,
    "search p50 ms": 15,
    "store p50 ms": 30,
}
HALVED: dict[str, tuple[Half, Half]] = {
    "fresh3": ("fresh3 seen", "fresh3 held"),
    "fresh4": ("fresh4 seen", "fresh4 held"),
    "fresh5": ("fresh5 seen", "fresh5 held"),
    "fresh7": ("fresh7 seen", "fresh7 held"),
    "fresh8": ("fresh8 seen", "fresh8 held"),
    "fresh10": ("fresh10 seen", "fresh10 held"),
}
PARTS = ("labels", *WHOLE, *HALVED, "locomo", "beam", "speed")
MEMORIES = int(os.environ.get("PECIA_BENCH_MEMORIES", "3000"))
CHATS = slice(*map(int, os.environ.get("PECIA_BENCH_CHATS", "0:20").split(":")))
CONVERSATIONS = range(*map(int, os.environ.get("PECIA_BENCH_CONVERSATIONS", "0:5").split(":")))
CALLS = 200


def measure(client: MemoryClient, parts: tuple[str, ...]) -> dict[str, Any]:
    found: dict[str, Any] = {"targets": TARGETS}
    if "labels" in parts:
        found["labels"] = {half: measure_labels(client, half) for half in ("seen", "held")}
    for name in WHOLE:
        if name in parts:
            found[name] = measure_labels(client, name)
    for name, halves in HALVED.items():
        if name in parts:
            found[name] = {half: measure_labels(client, half) for half in halves}
    if "locomo" in parts:
        found["locomo"] = _from_data("locomo", lambda: measure_locomo(client, CONVERSATIONS))
    if "beam" in parts:
        found["beam"] = _from_data("beam-100k", lambda: measure_beam(client, CHATS))
    if "speed" in parts:
        found["speed"] = measure_speed(client)
    return found


def _from_data(name: str, run: Callable[[], dict[str, Any]]) -> dict[str, Any]:
    return run() if (DATA / name).exists() else {"absent": f"{name} is read from ../shared/data"}


def measure_speed(client: MemoryClient) -> dict[str, Any]:
    """Latencies of single calls, one after the other, at so many memories."""
    there = client.within("speed")
    dice = random.Random(7)
    for at in range(0, MEMORIES, 200):
        part = [{"text": fact(dice, at + it)} for it in range(min(200, MEMORIES - at))]
        there.call("memory_import", memories=part)
    client.rest()
    stores = [lambda n=n: there.store([fact(dice, MEMORIES + n)]) for n in range(CALLS)]
    took = {"store": _times(client, stores)}
    client.rest()
    searches = [lambda: there.search(f"{dice.choice(NOUNS)} of {dice.choice(PLACES)}", 5)] * CALLS
    took["search"] = _times(client, searches)
    return {"memories": MEMORIES, **took}


def _times(client: MemoryClient, calls: list[Callable[[], Any]]) -> dict[str, float]:
    """Latencies; and CPU time of all processes, which other programs on the machine do not lengthen
    as much: that of the index and of embeddings, which a store sets going, is in it."""
    for call in calls[:10]:
        call()
    before = client.cpu_s()
    times: list[float] = []
    for call in calls[10:]:
        began = time.perf_counter()
        call()
        times.append((time.perf_counter() - began) * 1000)
    times.sort()
    return {
        "p50_ms": round(statistics.median(times), 1),
        "p95_ms": round(times[len(times) * 95 // 100], 1),
        "min_ms": round(times[0], 1),
        "cpu_ms": round((client.cpu_s() - before) * 1000 / len(times), 1),
    }


NOUNS = ("port", "owner", "backup", "retention", "deadline", "budget", "password policy", "region")
PLACES = tuple(f"{a}-{b}" for a in ("billing", "search", "mail", "auth", "web") for b in range(200))


def fact(dice: random.Random, number: int) -> str:
    """A fact of its own."""
    return (
        f"The {dice.choice(NOUNS)} of {dice.choice(PLACES)} was set to {number} by"
        f" {dice.choice(('Ana', 'Bo', 'Cy', 'Di'))} after review {dice.randrange(10_000)}."
    )


def main() -> Path:
    parts = tuple(os.environ.get("PECIA_BENCH_PARTS", ",".join(PARTS)).split(","))
    with tempfile.TemporaryDirectory() as folder, serving(Path(folder)) as client:
        found = measure(client, parts)
    return result.write("memory" if parts == PARTS else f"memory-{'-'.join(parts)}", found)
