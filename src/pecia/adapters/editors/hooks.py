"""Hooks of the clients that have them: recall when a session begins, capture when it ends.

Pure: a text in, a text out. Claude Code, Codex and Cursor keep hooks as lists in a JSON file;
OpenCode runs a plugin, a file of its own.
"""

import json
import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path, PurePath
from typing import cast

from pecia.adapters.editors import jsonc
from pecia.adapters.editors.catalog import Machine
from pecia.adapters.editors.plan import NAME, EntryPlan
from pecia.kernel.errors import Json, PeciaError, Unprocessable

RECALL_TIMEOUT_S, CAPTURE_TIMEOUT_S = 10, 20
_HERE = Path(__file__).parent
SKILL = _HERE / "SKILL.md"
_PLUGIN = _HERE / "opencode_plugin.js"
_HOOKS = "hooks"


@dataclass(frozen=True, slots=True)
class HookClient:
    """A client: where it keeps hooks and skills, and what shows that it is here."""

    id: str
    title: str
    file: Path
    probe: Path
    skills: Path
    begins: str = "SessionStart"
    ends: str = "SessionEnd"
    matcher: str | None = None
    """Which beginnings of a session count: a resumed one has what was recalled."""
    is_flat: bool = False
    """Whether a list has the commands themselves, and no groups of them."""
    is_plugin: bool = False

    @property
    def skill_file(self) -> Path:
        return self.skills / NAME / "SKILL.md"


def known_hook_clients(machine: Machine) -> tuple[HookClient, ...]:
    """All four, in the order in which they are shown."""
    home = machine.home
    claude = machine.env_folder("CLAUDE_CONFIG_DIR") or home / ".claude"
    codex = machine.env_folder("CODEX_HOME") or home / ".codex"
    cursor = home / ".cursor"
    opencode = (machine.env_folder("XDG_CONFIG_HOME") or home / ".config") / "opencode"
    return (
        HookClient(
            "claude",
            "Claude Code",
            claude / "settings.json",
            claude,
            claude / "skills",
            matcher="startup|clear|compact",
        ),
        # Codex tells of the end of a turn only.
        HookClient(
            "codex",
            "Codex",
            codex / "hooks.json",
            codex,
            home / ".agents" / "skills",
            ends="Stop",
            matcher="startup|clear",
        ),
        HookClient(
            "cursor",
            "Cursor",
            cursor / "hooks.json",
            cursor,
            cursor / "skills",
            begins="sessionStart",
            ends="sessionEnd",
            is_flat=True,
        ),
        HookClient(
            "opencode",
            "OpenCode",
            opencode / "plugins" / "pecia.js",
            opencode,
            opencode / "skills",
            is_plugin=True,
        ),
    )


def plan_hooks(client: HookClient, text: str | None, command: str) -> EntryPlan:
    """The file with our two hooks in it."""
    if client.is_plugin:
        return plan_own_file(text, write_plugin(command), is_ours=_is_our_plugin(text))
    try:
        return _plan_lists(client, text or "", command)
    except PeciaError as error:
        return EntryPlan("failed", why=error.message)


def plan_unhook(client: HookClient, text: str) -> EntryPlan:
    """The file without our hooks; an empty text for a file of our own."""
    if client.is_plugin:
        is_ours = _is_our_plugin(text)
        why = "" if is_ours else "it was written by hand"
        return EntryPlan("removed" if is_ours else "skipped-custom", "" if is_ours else None, why)
    try:
        after = _without_hooks(client, text)
    except PeciaError as error:
        return EntryPlan("failed", why=error.message)
    if after == text:
        return EntryPlan("unchanged", why="it has no hooks of ours")
    return EntryPlan("removed", after)


def plan_own_file(text: str | None, wanted: str, *, is_ours: bool) -> EntryPlan:
    """A file that is ours as a whole: made, brought up to date, or left to who changed it."""
    if text is None:
        return EntryPlan("written", wanted)
    if text == wanted:
        return EntryPlan("unchanged", why="it is there already")
    if not is_ours:
        return EntryPlan("skipped-custom", why="it was written or changed by hand")
    return EntryPlan("overwritten", wanted)


def write_plugin(command: str) -> str:
    """The plugin for OpenCode that starts this program."""
    return _PLUGIN.read_text(encoding="utf-8").replace('"@PECIA@"', json.dumps(command))


def hook_entries(client: HookClient, command: str) -> dict[str, dict[str, Json]]:
    """What is added, by event."""
    quoted = shlex.quote(command)
    wanted = {
        client.begins: (f"{quoted} hook recall --client {client.id}", RECALL_TIMEOUT_S),
        client.ends: (f"{quoted} hook capture --client {client.id}", CAPTURE_TIMEOUT_S),
    }
    return {event: _entry(client, event, *it) for event, it in wanted.items()}


def _entry(client: HookClient, event: str, command: str, timeout_s: int) -> dict[str, Json]:
    if client.is_flat:
        return {"command": command, "timeout": timeout_s}
    only: dict[str, Json] = (
        {"matcher": client.matcher} if client.matcher and event == client.begins else {}
    )
    return {**only, "hooks": [{"type": "command", "command": command, "timeout": timeout_s}]}


def _plan_lists(client: HookClient, text: str, command: str) -> EntryPlan:
    before = jsonc.read(text)
    wanted = hook_entries(client, command)
    if all(it in _list_hooks(before, event) for event, it in wanted.items()):
        return EntryPlan("unchanged", why="it has these hooks already")
    after = _without_hooks(client, text)
    status = "written" if after == text else "overwritten"
    if client.is_flat and "version" not in before:
        after = jsonc.put(after, ("version",), 1)
    for event, it in wanted.items():
        after = jsonc.append(after, (_HOOKS, event), it)
    _require_others(before, after, client, wanted)
    return EntryPlan(status, after)


def _require_others(
    before: Mapping[str, Json], after: str, client: HookClient, wanted: Mapping[str, Json]
) -> None:
    """Read back: everything else says what it said."""
    found = jsonc.read(after)
    rest = {it: value for it, value in found.items() if it not in (_HOOKS, "version")}
    same = rest == {it: value for it, value in before.items() if it not in (_HOOKS, "version")}
    for event in {*_hooks(before), *_hooks(found)}:
        mine = [wanted[event]] if event in wanted else []
        theirs = [it for it in _list_hooks(before, event) if not _is_our_hook(client, it)]
        same = same and _list_hooks(found, event) == [*theirs, *mine]
    if not same:
        raise Unprocessable(
            "it is laid out so that hooks cannot be changed in place: change it by hand"
        )


def _without_hooks(client: HookClient, text: str) -> str:
    for event in (client.begins, client.ends):
        items = _list_hooks(jsonc.read(text), event)
        ours = [number for number, it in enumerate(items) if _is_our_hook(client, it)]
        for number in reversed(ours):
            text = jsonc.drop_item(text, (_HOOKS, event), number)
        if ours and len(ours) == len(items):
            text = jsonc.drop(text, (_HOOKS, event))
    return text


def _hooks(document: Mapping[str, Json]) -> dict[str, Json]:
    found = document.get(_HOOKS, {})
    if not isinstance(found, dict):
        raise Unprocessable(f"`{_HOOKS}` in it holds no lists by event")
    return found


def _list_hooks(document: Mapping[str, Json], event: str) -> list[Json]:
    found = _hooks(document).get(event, [])
    if not isinstance(found, list):
        raise Unprocessable(f"`{event}` in it is not a list")
    return found


def _is_our_hook(client: HookClient, item: Json) -> bool:
    """Whether an item is one that we write, wherever the program was then."""
    if not isinstance(item, dict):
        return False
    inner = item if client.is_flat else _only_command(item)
    try:
        words = shlex.split(str(inner.get("command", "")))
    except ValueError:
        return False
    if len(words) != 5 or PurePath(words[0]).name != NAME or words[1] != "hook":
        return False
    return item in hook_entries(client, words[0]).values()


def _only_command(group: Mapping[str, Json]) -> Mapping[str, Json]:
    inner = group.get("hooks")
    is_one = isinstance(inner, list) and len(inner) == 1 and isinstance(inner[0], dict)
    return cast(Mapping[str, Json], cast(list[Json], inner)[0]) if is_one else {}


def _is_our_plugin(text: str | None) -> bool:
    return text is not None and text.startswith("// Written by `pecia init --hooks`;")
