"""What the person said in a session, from the transcript of the client. Pure.

Only what was typed: neither answers, nor results of tools, nor what a client or a hook added.
"""

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, cast

# What clients put into the messages of their users, and what our own hook added.
_ADDED = re.compile(
    r"<(pecia-memories|system-reminder|environment_context|user_instructions|attached_files|"
    r"local-command-\w+|command-\w+|ide_\w+|open_and_recently_viewed_files|rules)\b[^>]*>"
    r".*?</\1>",
    re.DOTALL,
)
_QUERY = re.compile(r"<user_query>(.*?)</user_query>", re.DOTALL)


def list_user_messages(client: str, lines: Iterable[str]) -> list[str]:
    """The messages, in order. Lines that are not of a known shape are passed over."""
    read = READERS[client]
    found: list[str] = []
    for line in lines:
        entry = _parse_object(line)
        found += [it for text in read(entry) if (it := strip_added(text))]
    return found


def strip_added(text: str) -> str:
    """The text without what was added to it."""
    asked = _QUERY.findall(text)
    return _ADDED.sub(" ", "\n".join(asked) if asked else text).strip()


def _parse_object(line: str) -> Mapping[str, Any]:
    try:
        found = json.loads(line)
    except (ValueError, RecursionError):
        return {}
    return cast(Mapping[str, Any], found) if isinstance(found, dict) else {}


def _claude(entry: Mapping[str, Any]) -> Iterator[str]:
    """Claude Code. `isMeta` and `isSidechain`: not typed by anybody."""
    if entry.get("type") == "user" and not entry.get("isMeta") and not entry.get("isSidechain"):
        yield from _content(entry.get("message"))


def _codex(entry: Mapping[str, Any]) -> Iterator[str]:
    """Codex writes each message twice; the event has it as it was typed."""
    payload = _as_object(entry.get("payload"))
    if entry.get("type") == "event_msg" and payload.get("type") == "user_message":
        yield from _texts(payload.get("message"))


def _cursor(entry: Mapping[str, Any]) -> Iterator[str]:
    if entry.get("role") == "user":
        yield from _content(entry.get("message"))


def _plain(entry: Mapping[str, Any]) -> Iterator[str]:
    """A message a line: what our plugin for OpenCode sends."""
    yield from _texts(entry.get("text"))


READERS: Mapping[str, Callable[[Mapping[str, Any]], Iterator[str]]] = {
    "claude": _claude,
    "codex": _codex,
    "cursor": _cursor,
    "opencode": _plain,
}


def _content(message: Any) -> Iterator[str]:
    """A text, or the blocks of one that are texts. With a tool's result, nothing was typed."""
    content = _as_object(message).get("content")
    yield from _texts(content)
    blocks = [_as_object(it) for it in cast(list[Any], content)] if _is_list(content) else []
    if not any(it.get("type") == "tool_result" for it in blocks):
        for it in blocks:
            yield from _texts(it.get("text") if it.get("type") == "text" else None)


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str) and value.strip():
        yield value


def _as_object(value: Any) -> Mapping[str, Any]:
    return cast(Mapping[str, Any], value) if isinstance(value, dict) else {}


def _is_list(value: Any) -> bool:
    return isinstance(value, list)
