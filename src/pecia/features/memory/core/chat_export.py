"""Exports of other products as memories to import: ChatGPT, Claude, mem0, and our own. Pure.

ChatGPT and Claude export conversations. Of each, what the person said and is worth keeping becomes
a memory, as `ask_cipher` would keep it; or every turn, if asked. Times, speakers and the
conversation come along. mem0 exports memories, which are taken as they are.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import cast

from pecia.features.memory.core.utterance import read_utterance
from pecia.kernel.errors import InvalidFormat, Json

MAX_TEXT_CHARS = 100_000
MAX_NAME_CHARS = 100
MAX_TAGS = 50
_SPEAKERS = {"user": "user", "human": "user", "assistant": "assistant"}


@dataclass(frozen=True, slots=True)
class ExportedTurn:
    """One turn of a conversation. `said_by` is `user` or `assistant`."""

    id: str
    conversation: str
    said_by: str
    said_at: str | None
    text: str


@dataclass(frozen=True, slots=True)
class ParsedExport:
    """What a file holds: the product it is from, memories to import, and how many turns were left
    out because nothing in them is worth keeping, or because they are too long."""

    product: str
    memories: tuple[dict[str, Json], ...]
    left_out: int = 0
    too_long: int = 0


def parse_export(document: Json, *, every_turn: bool = False) -> ParsedExport:
    """The memories of an export, by its shape."""
    entries = _entries(document)
    first = next((it for it in entries if isinstance(it, dict)), None)
    if first is None:
        raise _unknown()
    if "mapping" in first:
        turns = [turn for it in entries for turn in _chatgpt_turns(_object(it))]
        return _from_turns("ChatGPT", turns, every_turn=every_turn)
    if "chat_messages" in first:
        turns = [turn for it in entries for turn in _claude_turns(_object(it))]
        return _from_turns("Claude", turns, every_turn=every_turn)
    if "memory" in first:
        found = [it for it in map(_mem0_memory, entries) if it is not None]
        return ParsedExport("mem0", tuple(found), len(entries) - len(found))
    if "text" in first:
        return ParsedExport("Pecia", tuple(_object(it) for it in entries))
    raise _unknown()


def _unknown() -> InvalidFormat:
    return InvalidFormat(
        "this is no export that we know",
        field="export",
        expected="conversations.json of ChatGPT or Claude, memories of mem0, or `memory_export`",
    )


def _entries(document: Json) -> Sequence[Json]:
    """The list in a document, which some products wrap."""
    if isinstance(document, dict):
        for name in ("memories", "results", "conversations"):
            if isinstance(inner := document.get(name), list):
                return inner
        return [document]
    return document if isinstance(document, list) else []


def _from_turns(product: str, turns: Sequence[ExportedTurn], *, every_turn: bool) -> ParsedExport:
    memories: list[dict[str, Json]] = []
    left_out = too_long = 0
    for turn in turns:
        kept = turn.text.strip() if every_turn else _worth_keeping(turn)
        if not kept:
            left_out += 1
        elif len(kept) > MAX_TEXT_CHARS:
            too_long += 1
        else:
            memories.append(_turn_memory(product, turn, kept))
    return ParsedExport(product, tuple(memories), left_out, too_long)


def _worth_keeping(turn: ExportedTurn) -> str:
    return read_utterance(turn.text).kept if turn.said_by == "user" else ""


def _turn_memory(product: str, turn: ExportedTurn, text: str) -> dict[str, Json]:
    memory: dict[str, Json] = {
        "id": f"{product.lower()}:{turn.id}",
        "text": text,
        "said_by": turn.said_by,
        "sourceSessionId": turn.conversation[:MAX_NAME_CHARS],
        "metadata": {"importedFrom": product},
    }
    return memory if turn.said_at is None else {**memory, "timestamp": turn.said_at}


def _chatgpt_turns(conversation: Mapping[str, Json]) -> Iterator[ExportedTurn]:
    """The branch that was shown last, from its first turn: an edited message has several."""
    nodes = _object(conversation.get("mapping"))
    name = _text(conversation.get("conversation_id") or conversation.get("id"))
    for key in _chatgpt_branch(nodes, conversation.get("current_node")):
        message = _object(_object(nodes.get(key)).get("message"))
        said_by = _SPEAKERS.get(_text(_object(message.get("author")).get("role")))
        is_hidden = _object(message.get("metadata")).get("is_visually_hidden_from_conversation")
        parts = _list(_object(message.get("content")).get("parts"))
        # Parts that are no text are images and files.
        text = "\n".join(it for it in parts if isinstance(it, str))
        if said_by and text.strip() and not is_hidden:
            said_at = _epoch_time(message.get("create_time"))
            yield ExportedTurn(_text(message.get("id")) or key, name, said_by, said_at, text)


def _chatgpt_branch(nodes: Mapping[str, Json], current: Json) -> list[str]:
    key = current if isinstance(current, str) and current in nodes else None
    if key is None:
        return [*nodes]
    branch: list[str] = []
    while key is not None and key in nodes and key not in branch:
        branch.append(key)
        above = _object(nodes[key]).get("parent")
        key = above if isinstance(above, str) else None
    return branch[::-1]


def _claude_turns(conversation: Mapping[str, Json]) -> Iterator[ExportedTurn]:
    name = _text(conversation.get("uuid"))
    for number, it in enumerate(_list(conversation.get("chat_messages"))):
        message = _object(it)
        said_by = _SPEAKERS.get(_text(message.get("sender")).lower())
        text = _text(message.get("text")) or _claude_text(message.get("content"))
        if said_by and text.strip():
            id_ = _text(message.get("uuid")) or f"{name}:{number}"
            said_at = _iso_time(message.get("created_at"))
            yield ExportedTurn(id_, name, said_by, said_at, text)


def _claude_text(content: Json) -> str:
    blocks = [_object(it) for it in _list(content)]
    return "\n".join(_text(it.get("text")) for it in blocks if it.get("type") == "text")


def _mem0_memory(entry: Json) -> dict[str, Json] | None:
    found = _object(entry)
    text = _text(found.get("memory")).strip()
    if not text or len(text) > MAX_TEXT_CHARS:
        return None
    metadata: dict[str, Json] = {**_object(found.get("metadata")), "importedFrom": "mem0"}
    for name in ("agent_id", "run_id"):
        if value := _text(found.get(name)):
            metadata[name] = value
    memory: dict[str, Json] = {"text": text, "metadata": metadata}
    tags = [it[:MAX_NAME_CHARS] for it in _list(found.get("categories")) if isinstance(it, str)]
    if tags:
        memory["tags"] = [*tags[:MAX_TAGS]]
    if id_ := _text(found.get("id")):
        memory["id"] = f"mem0:{id_}"
    if user := _text(found.get("user_id")):
        memory["userId"] = user[:MAX_NAME_CHARS]
    if said_at := _iso_time(found.get("created_at")):
        memory["timestamp"] = said_at
    return memory


def _iso_time(value: Json) -> str | None:
    """A time as it stands, if it is one."""
    try:
        return datetime.fromisoformat(_text(value)) and _text(value)
    except ValueError:
        return None


def _epoch_time(value: Json) -> str | None:
    if not isinstance(value, (int, float)) or isinstance(value, bool):
        return None
    try:
        return datetime.fromtimestamp(value, UTC).isoformat()
    except (ValueError, OverflowError, OSError):
        return None


def _object(value: Json) -> dict[str, Json]:
    return cast(dict[str, Json], value) if isinstance(value, dict) else {}


def _list(value: Json) -> list[Json]:
    return value if isinstance(value, list) else []


def _text(value: Json) -> str:
    return value if isinstance(value, str) else ""
