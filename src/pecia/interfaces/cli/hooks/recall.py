"""The memories that a session begins with: chosen, and written within a budget of tokens. Pure."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

MAX_TOKENS = 600
MAX_CHARS = 300
TAG = "pecia-memories"
LEAD = (
    "Remembered from earlier sessions, by Pecia. It may be out of date: check what matters. "
    "Search for more with the tool cipher_memory_search, or `pecia recall WORDS`."
)


def choose_memories(
    listed: Iterable[Mapping[str, Any]], found: Sequence[Mapping[str, Any]]
) -> list[str]:
    """Standing instructions and preferences, then what was found for this project, then the
    newest."""
    holding = [it for it in listed if not it.get("superseded_by") and not it.get("same_as")]
    newest = sorted(holding, key=lambda it: str(it.get("said_at") or ""), reverse=True)
    standing = [it for it in newest if _is_standing(it)]
    texts = [_shorten(str(it["text"])) for it in (*standing, *found, *newest)]
    return [*dict.fromkeys(it for it in texts if it)]


def _is_standing(memory: Mapping[str, Any]) -> bool:
    facts: Any = memory.get("metadata")
    return bool(facts and facts.get("standing"))


def write_recall(memories: Sequence[str], budget: int = MAX_TOKENS) -> tuple[str, list[str]]:
    """The text, and the memories in it; empty where there are none."""
    taken: list[str] = []
    used = count_tokens(f"<{TAG}>\n{LEAD}\n</{TAG}>\n")
    for it in memories:
        cost = count_tokens(f"- {it}\n")
        if used + cost <= budget:
            taken.append(it)
            used += cost
    lines = [f"<{TAG}>", LEAD, *(f"- {it}" for it in taken), f"</{TAG}>"]
    return ("\n".join(lines) + "\n", taken) if taken else ("", [])


def count_tokens(text: str) -> int:
    """An upper estimate without a tokenizer: a token has three bytes or more in most texts."""
    return -(-len(text.encode()) // 3)


def _shorten(text: str) -> str:
    plain = " ".join(text.split()).replace(f"</{TAG}>", "")
    return plain if len(plain) <= MAX_CHARS else f"{plain[: MAX_CHARS - 1]}…"
