"""The label sets of this folder, and what the memory tools make of them.

They were written before the rules. Half of the lines, chosen by their hash, were not run until the
rules were done: `held`. Their results were read before later rules were written, so that half is
not blind any more. `fresh` was written after those rules by somebody who had not read them, and is
run once: who reads its results and then changes rules needs another. `fresh2` is that other one,
written by the author of the rules of ADR 93 before those rules, and run after them. `fresh3` was
written by the author of ADR 104, who knew the ADRs but not yet the code, before its rules;
`attributes` of it after reading the old rules and before the new ones. It is halved by hash again.
The second half was compared once, pair by pair, when the rules were done; not yet through a server.
`fresh4` was written before the code was read, by the author of the rules of ADR 126: facts in three
wordings, and close but different facts (`near_misses`). Its second half was
compared once, by pairs. `corrections` was written, in ten languages, before the code was read, by
the author of the rules of ADR 143; its second half was run once, when they were done. `fresh5` has
further corrections and other facts, written before ADR 220; its second half was run once, by pairs.
`fresh6` was written before the code was read, by the author of ADR 281, in eleven languages. Half
of it, another one than here, was read while its rules were written; of the other half only figures.
`fresh7` was written before the code was read, by the author of ADR 290; its second half was not
read until the rules were done. One rule was written after that.
`fresh8` was written before the code was read, by the author of ADR 330, and is halved by the first
statement of a line, so that a fact and what looks like it are in one half. The held half was run
once, by pairs; rules for the five pairs that were merged wrongly were written after that.
`fresh9` has further corrections and other facts in seven languages, by the author of ADR 345; those
marked `a` and `b` were written before the code was read. Each line says when it was run.
`fresh10` was written before the code was read, by the author of ADR 410; its second half was run
once, through a server, when the changes were done, and nothing was changed after it.
"""

import re
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from typing import Any, Literal, TypeAlias
from uuid import uuid4

from bench.memories.server import MemoryClient

FOLDER = Path(__file__).parent / "labels"
Half: TypeAlias = Literal[
    "seen",
    "held",
    "fresh",
    "fresh2",
    "fresh6",
    "fresh3 seen",
    "fresh3 held",
    "fresh4 seen",
    "fresh4 held",
    "fresh5 seen",
    "fresh5 held",
    "fresh7 seen",
    "fresh7 held",
    "fresh8 seen",
    "fresh8 held",
    "fresh9",
    "fresh10 seen",
    "fresh10 held",
]

# Sets that are not halved, each in a folder of its own.
WHOLE: tuple[Half, ...] = ("fresh", "fresh2", "fresh6", "fresh9")

_TWINS = re.compile(r"\{(.*?)\|(.*?)\}")


def read_labels(name: str, half: Half) -> list[tuple[str, ...]]:
    """The lines of a set, split at their bars."""
    lines = _path(name, half).read_text("utf-8").splitlines()
    kept = [it for it in lines if it and not it.startswith("#")]
    kept = [it for it in kept if half in WHOLE or half.endswith(_half(_key(it, half)))]
    if name == "near_twins":
        return [tuple(_TWINS.sub(rf"\{n}", it) for n in (1, 2)) for it in kept]
    return [tuple(part.strip() for part in it.split(" | ")) for it in kept]


def _path(name: str, half: Half) -> Path:
    folder = half.partition(" ")[0]
    return (FOLDER / folder if folder.startswith("fresh") else FOLDER) / f"{name}.txt"


def _key(line: str, half: Half) -> str:
    """What of a line says in which half it is."""
    return line.partition(" | ")[0] if half.startswith("fresh8") else line


def _half(line: str) -> str:
    return "seen" if sha256(line.encode()).digest()[0] % 2 == 0 else "held"


def measure_labels(client: MemoryClient, half: Half) -> dict[str, Any]:
    sets: dict[str, Callable[[MemoryClient, Half], dict[str, Any]]] = {
        "near_twins": measure_twins,
        "near_misses": measure_misses,
        "negations": measure_negations,
        "updates": measure_updates,
        "corrections": measure_corrections,
        "attributes": measure_attributes,
        "utterances": measure_utterances,
        "paraphrases": measure_paraphrases,
        "instructions": measure_instructions,
        "times": measure_times,
        "commands": measure_commands,
    }
    return {
        name: measure(client, half) for name, measure in sets.items() if _path(name, half).exists()
    }


def measure_twins(client: MemoryClient, half: Half) -> dict[str, Any]:
    """Two facts that differ in one place: both must be listed and found, each by its own words
    first."""
    pairs, lost = read_labels("near_twins", half), list[str]()
    behind: list[str] = []
    there = client.within(f"twins-{uuid4().hex}")
    for pair in pairs:
        for text in pair:
            there.store([text])
    held = {it["text"] for it in there.listed()}
    for pair in pairs:
        for text in pair:
            found = _found(there, text)
            lost += [text] if text not in held or text not in found else []
            behind += [text] if found[:1] != [text] else []
    return {"pairs": len(pairs), "lost": lost, "not first": behind}


def measure_misses(client: MemoryClient, half: Half) -> dict[str, Any]:
    """Two close but different facts: both must be memories of their own that hold."""
    pairs, merged = read_labels("near_misses", half), list[tuple[str, ...]]()
    for pair in pairs:
        there = client.within(f"misses-{uuid4().hex}")
        for text in pair:
            there.store([text])
        held = {it["text"] for it in there.listed()}
        merged += [] if {*pair} <= held else [pair]
    return {"pairs": len(pairs), "merged": merged}


def measure_negations(client: MemoryClient, half: Half) -> dict[str, Any]:
    """A fact and its opposite: both must be readable, each as a memory of its own."""
    pairs, lost, hidden = read_labels("negations", half), list[str](), list[str]()
    there = client.within(f"negations-{uuid4().hex}")
    for pair in pairs:
        for text in pair:
            there.store([text])
    known = {it["text"]: it for it in there.listed(include=["superseded"])}
    for pair in pairs:
        lost += [it for it in pair if it not in known or known[it]["same_as"]]
        hidden += [it for it in pair if it in known and known[it]["superseded_by"]]
    return {"pairs": len(pairs), "lost": lost, "superseded but readable": hidden}


def measure_updates(client: MemoryClient, half: Half) -> dict[str, Any]:
    """What held and what holds now: the newer must come first, the older stays readable."""
    rows, wrong, lost = read_labels("updates", half), list[str](), list[str]()
    there = client.within(f"updates-{uuid4().hex}")
    for old, new, _ in rows:
        there.store([old])
        there.store([new])
    known = {it["text"] for it in there.listed(include=["superseded"])}
    for old, new, question in rows:
        lost += [it for it in (old, new) if it not in known]
        first = next(iter(_found(there, question)), "")
        wrong += [f"{question} -> {first}"] if first != new else []
    share = 1 - len(wrong) / len(rows)
    return {"updates": len(rows), "newest first": round(share, 4), "wrong": wrong, "lost": lost}


def measure_corrections(client: MemoryClient, half: Half) -> dict[str, Any]:
    """A statement among others of its language, then a correction of it or something like one:
    only what was corrected ends, and everything stays readable."""
    rows, missed = read_labels("corrections", half), list[str]()
    wrong, lost = list[str](), list[str]()
    ended = right = 0
    for language, label, _, old, new in rows:
        there = client.within(f"corrections-{uuid4().hex}")
        beside = dict.fromkeys(it[3] for it in rows if it[0] == language and it[3] != old)
        for text in (*beside, old, new):
            there.store([text])
        known = {it["text"]: it for it in there.listed(include=["superseded"])}
        over = {text for text, it in known.items() if it["valid_to"]}
        ended += len(over)
        right += len(over & {old}) if label == "correction" else 0
        missed += [f"{old} -> {new}"] if label == "correction" and old not in over else []
        wrong += [f"{it} -> {new}" for it in over if label != "correction" or it != old]
        said = (*beside, old)
        lost += [it for it in said if it not in known]
        lost += [new] if not any(it.startswith(new) for it in known) and "?" not in new else []
    wanted = sum(it[1] == "correction" for it in rows)
    return {
        "texts": len(rows),
        "precision": round(right / max(1, ended), 4),
        "recall": round(right / max(1, wanted), 4),
        "missed": missed,
        "wrong": wrong,
        "lost": lost,
    }


def measure_attributes(client: MemoryClient, half: Half) -> dict[str, Any]:
    """A fact, and a later one about something else of the same: asked for the first, it must come
    before the second."""
    rows, wrong = read_labels("attributes", half), list[str]()
    there = client.within(f"attributes-{uuid4().hex}")
    for first, later, _ in rows:
        there.store([first])
        there.store([later])
    for first, later, question in rows:
        found = _found(there, question)
        if first not in found or later in found[: found.index(first)]:
            wrong.append(f"{question} -> {found[:1]}")
    return {"pairs": len(rows), "in order": round(1 - len(wrong) / len(rows), 4), "wrong": wrong}


def measure_utterances(client: MemoryClient, half: Half) -> dict[str, Any]:
    """What `ask_cipher` keeps of what somebody says."""
    rows = read_labels("utterances", half)
    there = client.within(f"utterances-{uuid4().hex}")
    wrong: list[str] = []
    kept = right = wanted = 0
    for label, text in rows:
        answer = there.ask(text)
        keeps = any(it["event"] != "NONE" or it["id"] for it in answer["remembered"])
        wanted += label == "keep"
        kept += keeps
        right += keeps and label == "keep"
        wrong += [f"{label}: {text}"] if keeps != (label == "keep") else []
    return {
        "utterances": len(rows),
        "precision": round(right / max(1, kept), 4),
        "recall": round(right / max(1, wanted), 4),
        "wrong": wrong,
    }


def measure_paraphrases(client: MemoryClient, half: Half) -> dict[str, Any]:
    """A fact in three wordings is one memory, and no two facts are."""
    rows = read_labels("paraphrases", half)
    there = client.within(f"paraphrases-{uuid4().hex}")
    for wordings in zip(*rows, strict=True):
        for text in wordings:
            there.store([text])
    fact_of = {text: n for n, row in enumerate(rows) for text in row}
    everything = there.listed(include=["superseded"])
    by_id = {it["id"]: it["text"] for it in everything}
    merged = [
        (it["text"], by_id[it["same_as"]])
        for it in everything
        if it["same_as"] and fact_of[it["text"]] != fact_of[by_id[it["same_as"]]]
    ]
    count = len(there.listed())
    return {
        "facts": len(rows),
        "memories per fact": round(count / len(rows), 4),
        "different facts merged": merged,
    }


def measure_instructions(client: MemoryClient, half: Half) -> dict[str, Any]:
    """A standing instruction among facts: does a later request bring it, among the first five?"""
    rows = read_labels("instructions", half)
    there = client.within(f"instructions-{uuid4().hex}")
    there.store([it for row in read_labels("updates", half)[:20] for it in row[:1]])
    missed: list[str] = []
    for instruction, request in rows:
        alone = client.within(f"instruction-{uuid4().hex}")
        alone.store([it for row in read_labels("updates", half)[:20] for it in row[:1]])
        alone.ask(instruction)
        answer = alone.ask(request)
        brought = any(it["text"] == instruction for it in answer["memories"][:5])
        missed += [] if brought else [f"{instruction} | {request}"]
    return {
        "instructions": len(rows),
        "brought": round(1 - len(missed) / len(rows), 4),
        "missed": missed,
    }


def measure_times(client: MemoryClient, half: Half) -> dict[str, Any]:
    """Two things of one kind, said on two days, and a question with words for one of the days."""
    rows, wrong = read_labels("times", half), list[str]()
    there = client.within(f"times-{uuid4().hex}")
    for first, said, later, then, _, _ in rows:
        for day, text in ((first, said), (later, then)):
            there.store([text], memoryMetadata={"said_at": f"{day}T10:00:00Z"})
    for _, said, _, then, question, word in rows:
        found = next(iter(_found(there, question)), "")
        wrong += (
            [f"{question} -> {found}"] if found not in (said, then) or word not in found else []
        )
    return {"questions": len(rows), "first": round(1 - len(wrong) / len(rows), 4), "wrong": wrong}


def measure_commands(client: MemoryClient, half: Half) -> dict[str, Any]:
    """What is said to `ask_cipher` to be remembered, to stand or to be forgotten."""
    rows, wrong = read_labels("commands", half), list[str]()
    for kind, said, what in rows:
        there = client.within(f"commands-{uuid4().hex}")
        there.store([what] if kind == "forget" else ["The kettle is red."])
        there.ask(said)
        kept = [it["text"] for it in there.listed() if what.lower() in it["text"].lower()]
        is_right = bool(kept) is not (kind == "forget")
        if kind == "standing":
            is_right &= bool(there.call("cipher_memory_search", query="the kettle")["standing"])
        wrong += [] if is_right else [f"{kind}: {said}"]
    return {"commands": len(rows), "obeyed": round(1 - len(wrong) / len(rows), 4), "wrong": wrong}


def _found(client: MemoryClient, query: str) -> list[str]:
    return [it["text"] for it in client.search(query, 5)]
