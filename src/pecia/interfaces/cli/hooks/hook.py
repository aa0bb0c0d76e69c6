"""`pecia hook`: what clients with hooks run when a session begins and ends.

A session must never suffer: each ends within its limit, says nothing where something is wrong, and
exits with 0. Neither starts a server.
"""

import json
import signal
import sys
from collections.abc import Generator, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from types import FrameType
from typing import Any, cast

from pecia.interfaces.cli.hooks.fact_filter import list_lasting_facts
from pecia.interfaces.cli.hooks.recall import choose_memories, write_recall
from pecia.interfaces.cli.hooks.session_state import HookSession, read_session, write_session
from pecia.interfaces.cli.hooks.transcript import READERS, list_user_messages
from pecia.interfaces.cli.output.terminal import Terminal
from pecia.interfaces.cli.settings import find_home
from pecia.interfaces.cli.tools.backend import ToolBackend, find_server_backend
from pecia.interfaces.cli.tools.direct import CommandArguments, DirectCommand
from pecia.kernel.errors import Json, PeciaError

RECALL_LIMIT_S, CAPTURE_LIMIT_S = 5.0, 15.0
MAX_INPUT_BYTES = 1_000_000
MAX_TRANSCRIPT_BYTES = 50_000_000
PAGE, MAX_PAGES = 200, 5
MAX_FOUND = 8


class _OutOfTimeError(Exception):
    """The limit of a hook."""


def recall(terminal: Terminal, given: CommandArguments) -> int:
    with _bounded(RECALL_LIMIT_S):
        payload = _read_payload()
        tools = find_server_backend(terminal)
        if tools is None or payload.get("source") == "resume":
            return 0
        folder = Path(_text(payload, "cwd") or Path.cwd()).name
        text, taken = write_recall(choose_memories(_list_memories(tools), _search(tools, folder)))
        if not text:
            return 0
        home, session = find_home(terminal), _session_id(payload)
        before = read_session(home, given["client"], session)
        recalled = tuple(dict.fromkeys((*before.recalled, *taken)))
        write_session(home, given["client"], session, HookSession(recalled, before.captured))
        terminal.print_line(format_context(given["client"], text))
        terminal.stdout.flush()
    return 0


def format_context(client: str, text: str) -> str:
    """The text as the client wants what is added to a session."""
    match client:
        case "cursor":
            return json.dumps({"additional_context": text}, ensure_ascii=False)
        case "opencode":
            return text
        case _:
            added = {"hookEventName": "SessionStart", "additionalContext": text}
            return json.dumps({"hookSpecificOutput": added}, ensure_ascii=False)


def capture(terminal: Terminal, given: CommandArguments) -> int:
    with _bounded(CAPTURE_LIMIT_S):
        payload = _read_payload()
        tools = find_server_backend(terminal)
        if tools is None:
            return 0
        client, session, home = given["client"], _session_id(payload), find_home(terminal)
        state = read_session(home, client, session)
        messages = list_user_messages(client, _transcript_lines(payload))
        facts = list_lasting_facts(messages[state.captured :], state.recalled)
        if facts:
            asked: dict[str, Json] = {
                "interaction": [*facts],
                "context": {"sessionId": session},
                "memoryMetadata": {"said_by": "user", "source": f"{client} session"},
            }
            tool = tools.find_tool("memory.cipher_extract_and_operate_memory")
            tools.call(tool, asked)
        write_session(home, client, session, HookSession(state.recalled, len(messages)))
    return 0


def _transcript_lines(payload: Mapping[str, Any]) -> Iterator[str]:
    """Of the file that the client names, or as it sent them. A long one from its beginning."""
    for it in cast(list[Any], payload.get("messages") or []):
        yield json.dumps({"text": it})
    if not (path := _text(payload, "transcript_path")):
        return
    left = MAX_TRANSCRIPT_BYTES
    with Path(path).expanduser().open("rb") as file:
        for line in file:
            left -= len(line)
            if left < 0:
                return
            yield line.decode(errors="replace")


def _list_memories(tools: ToolBackend) -> Iterator[Mapping[str, Any]]:
    tool, cursor = tools.find_tool("memory.memory_list"), None
    for _ in range(MAX_PAGES):
        asked: dict[str, Json] = {"limit": PAGE, **({"cursor": cursor} if cursor else {})}
        page = cast(Any, tools.call(tool, asked))
        yield from page["memories"]
        if not (cursor := page["next_cursor"]):
            return


def _search(tools: ToolBackend, words: str) -> list[Mapping[str, Any]]:
    """What was remembered that names the project."""
    if not words:
        return []
    asked: dict[str, Json] = {"query": words, "top_k": MAX_FOUND}
    return cast(Any, tools.call(tools.find_tool("memory.cipher_memory_search"), asked))["results"]


@contextmanager
def _bounded(limit_s: float) -> Generator[None]:
    """Ends the work at the limit, and passes over what went wrong: the session goes on."""

    def stop(_number: int, _frame: FrameType | None) -> None:
        raise _OutOfTimeError

    signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, limit_s)
    try:
        with suppress(PeciaError, OSError, ValueError, KeyError, TypeError, _OutOfTimeError):
            yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)


def _read_payload() -> Mapping[str, Any]:
    """What the client says of its session: a JSON object on stdin."""
    text = "" if sys.stdin.isatty() else sys.stdin.read(MAX_INPUT_BYTES)
    found: Any = json.loads(text) if text.strip() else None
    return cast(Mapping[str, Any], found) if isinstance(found, dict) else {}


def _session_id(payload: Mapping[str, Any]) -> str:
    return _text(payload, "session_id") or _text(payload, "conversation_id")


def _text(payload: Mapping[str, Any], name: str) -> str:
    value = payload.get(name)
    return value if isinstance(value, str) else ""


_CLIENT = {
    "enum": [*READERS],
    "default": "claude",
    "description": "Whose session it is: what is read and written differs.",
}

COMMANDS = {
    "hook recall": DirectCommand(
        recall,
        "Print what was remembered, for a session that begins: 600 tokens at most. `pecia init\n"
        "--hooks` lets clients run it. It takes the client's JSON on stdin, ends within 5\n"
        "seconds, prints nothing where no server runs, and always exits with 0.",
        {"client": _CLIENT},
    ),
    "hook capture": DirectCommand(
        capture,
        "Remember what the person said in a session that is meant to last: what they asked to\n"
        "remember, standing instructions, preferences, decisions; never what was recalled. It\n"
        "takes the client's JSON on stdin, ends within 15 seconds, and always exits with 0.",
        {"client": _CLIENT},
    ),
}
