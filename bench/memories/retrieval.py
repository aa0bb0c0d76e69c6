"""LoCoMo and BEAM through the memory tools, and plain BM25 over the same texts in the same run."""

import gzip
import json
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from bench.memories.bm25 import Bm25
from bench.memories.server import MemoryClient

DATA = Path(__file__).parents[3] / "shared" / "data"
# Weights were chosen on these conversations; the others are held back.
TUNED_ON = (3, 4)
# The first chats of BEAM that weights were chosen on.
TUNED_CHATS = 10
# Longer messages of BEAM are cut, for BM25 too: no memory is longer.
MAX_MESSAGE_CHARS = 100_000


@dataclass(slots=True)
class Tally:
    """Recall and reciprocal rank of many questions."""

    recalls: list[float] = field(default_factory=list[float])
    ranks: list[float] = field(default_factory=list[float])

    def add(self, found: Sequence[str], right: set[str], k: int) -> None:
        ranked = [*dict.fromkeys(found)]
        self.recalls.append(len({*ranked[:k]} & right) / len(right))
        self.ranks.append(next((1 / (n + 1) for n, it in enumerate(ranked) if it in right), 0.0))

    def told(self) -> dict[str, float]:
        count = max(1, len(self.recalls))
        return {
            "questions": len(self.recalls),
            "recall": round(sum(self.recalls) / count, 4),
            "mrr": round(sum(self.ranks) / count, 4),
        }


@dataclass(slots=True)
class Conversation:
    sessions: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])
    questions: list[tuple[str, set[str]]] = field(default_factory=list[tuple[str, set[str]]])


def read_locomo() -> dict[int, Conversation]:
    folder = DATA / "locomo"
    found: dict[int, Conversation] = defaultdict(Conversation)
    for line in (folder / "corpus.jsonl").read_text("utf-8").splitlines():
        session = json.loads(line)
        found[session["metadata"]["conversation"]].sessions.append(session)
    right: dict[str, set[str]] = defaultdict(set)
    for line in (folder / "qrels" / "test.tsv").read_text("utf-8").splitlines()[1:]:
        query, session, _ = line.split("\t")
        right[query].add(session)
    for line in (folder / "queries.jsonl").read_text("utf-8").splitlines():
        query = json.loads(line)
        if right[query["_id"]]:
            asked = (query["text"], right[query["_id"]])
            found[query["metadata"]["conversation"]].questions.append(asked)
    return found


def measure_locomo(client: MemoryClient, conversations: range) -> dict[str, Any]:
    """Sessions as one memory each, and turns as one memory each: are the right sessions found?"""
    tallies: dict[str, Tally] = defaultdict(Tally)
    for number, talk in read_locomo().items():
        if number not in conversations:
            continue
        half = "tuned on" if number in TUNED_ON else "held back"
        for kind in ("sessions", "turns"):
            texts, owners = _store_locomo(client, number, talk, kind)
            client.settle()
            there, bm25 = client.within(f"locomo-{number}-{kind}"), Bm25(texts)
            known = dict(zip(texts, owners, strict=True))
            top_k = 5 if kind == "turns" else 10
            for question, right in talk.questions:
                hits = [known[it["text"]] for it in there.search(question, top_k)]
                plain = [owners[it] for it in bm25.rank(question)[:top_k]]
                for name, found in (("memory", hits), ("bm25", plain)):
                    for part in (half, "all"):
                        tallies[f"{kind}, {name}, {part}"].add(found, right, 5)
    return {name: it.told() for name, it in sorted(tallies.items())}


def _store_locomo(
    client: MemoryClient, number: int, talk: Conversation, kind: str
) -> tuple[list[str], list[str]]:
    """The texts that were stored, and the session of each."""
    there = client.within(f"locomo-{number}-{kind}")
    texts: list[str] = []
    owners: list[str] = []
    for session in talk.sessions:
        whole = session["text"]
        said = [whole] if kind == "sessions" else whole.split("\n")
        metadata = {"said_at": _locomo_time(session["metadata"]["date"]).isoformat()}
        there.store(said, context={"sessionId": session["_id"]}, memoryMetadata=metadata)
        texts += [it.strip() for it in said]
        owners += [session["_id"]] * len(said)
    return texts, owners


def _locomo_time(text: str) -> datetime:
    return datetime.strptime(text, "%I:%M %p on %d %B, %Y").replace(tzinfo=UTC)


def measure_beam(client: MemoryClient, chats: slice) -> dict[str, Any]:
    """The messages of a chat as one memory each: are those that answer among the first ten?
    Messages are told by the ids of their memories: a secret in one is not stored, so that texts do
    not come back as they were sent."""
    tallies: dict[str, Tally] = defaultdict(Tally)
    superseded = 0
    with gzip.open(DATA / "beam-100k" / "chats.jsonl.gz", "rt", encoding="utf-8") as lines:
        read = [*enumerate(json.loads(line) for line in lines)][chats]
    for number, chat in read:
        half = "tuned on" if number < TUNED_CHATS else "held back"
        there = client.within(f"beam-{chat['chat']}")
        texts = [_message(it) for it in chat["messages"]]
        known: dict[str, list[str]] = defaultdict(list)
        for message, text in zip(chat["messages"], texts, strict=True):
            metadata = {"said_at": _beam_time(message).isoformat(), "said_by": message["role"]}
            for it in there.store([text], memoryMetadata=metadata):
                known[it["id"]].append(str(message["id"]))
        client.settle()
        bm25 = Bm25(texts)
        for question in chat["questions"]:
            right = {str(it) for it in question["sources"]}
            if not right:
                continue
            results = there.search(question["question"], 10)
            superseded += sum(it["superseded_by"] is not None for it in results)
            hits = [message for it in results for message in known[it["id"]]]
            plain = [str(chat["messages"][it]["id"]) for it in bm25.rank(question["question"])[:10]]
            for name, found in (("memory", hits), ("bm25", plain)):
                for part in ("all", question["type"]):
                    tallies[f"{half}, {name}, {part}"].add(found, right, 10)
    told: dict[str, Any] = {name: it.told() for name, it in sorted(tallies.items())}
    return {"chats": len(read), "superseded in results": superseded, **told}


def _message(message: dict[str, Any]) -> str:
    return message["text"][:MAX_MESSAGE_CHARS].strip()


def _beam_time(message: dict[str, Any]) -> datetime:
    try:
        return datetime.strptime(message["time"], "%B-%d-%Y").replace(tzinfo=UTC)
    except (ValueError, TypeError):
        return datetime(2024, 1, 1, tzinfo=UTC)
