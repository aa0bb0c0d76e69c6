"""What becomes of one editor's file: our entry added, brought up to date, kept, or removed. Pure.

A text leaves only after it was read back: everything else in it says what it said before.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import PurePath
from typing import Literal, TypeAlias, cast

from pecia.adapters.editors.catalog import CodeEditor
from pecia.kernel.errors import Json, PeciaError, Unprocessable

NAME = "pecia"
"""The name of our entry in every editor."""

HOME_VARIABLE = "PECIA_HOME"

EntryStatus: TypeAlias = Literal[
    "written", "overwritten", "unchanged", "removed", "skipped-custom", "skipped-missing", "failed"
]


@dataclass(frozen=True, slots=True)
class EntryRequest:
    """The entry that is wanted. Without a toolset one that is there already keeps its own."""

    command: str
    toolset: str | None = None
    force: bool = False
    """Whether an entry that somebody made their own is replaced."""
    home: str | None = None
    """The home of the server, where it is not the default: editors do not pass on the environment
    of the shell."""


@dataclass(frozen=True, slots=True)
class EntryPlan:
    """What would be done, and why. There is a text when the file changes."""

    status: EntryStatus
    text: str | None = None
    why: str = ""


def plan_add(editor: CodeEditor, text: str | None, wish: EntryRequest) -> EntryPlan:
    """The file with our entry in it."""
    return _catch_failure(lambda: _plan_add(editor, text or "", wish))


def plan_remove(editor: CodeEditor, text: str | None, *, force: bool = False) -> EntryPlan:
    """The file without our entry. One that somebody made their own stays."""
    return _catch_failure(lambda: _plan_remove(editor, text or "", force=force))


def build_entry(
    editor: CodeEditor, command: str, toolset: str | None = None, home: str | None = None
) -> dict[str, Json]:
    """The editor's entry: which program to start, its arguments, and the home if it is named."""
    kind: dict[str, Json] = {"type": "stdio"} if editor.is_typed else {}
    words: list[Json] = ["mcp", *(["--toolset", toolset] if toolset not in (None, "desk") else [])]
    env: dict[str, Json] = {"env": {HOME_VARIABLE: home}} if home is not None else {}
    return {**kind, "command": command, "args": words, **env}


def is_ours(editor: CodeEditor, found: Json) -> bool:
    """Whether an entry has a shape that we write, wherever the program was then."""
    if not isinstance(found, dict) or not isinstance(found.get("command"), str):
        return False
    command = str(found["command"])
    shape = build_entry(editor, command, _toolset(found), _home(found))
    return PurePath(command).name == NAME and found == shape


def _catch_failure(make: Callable[[], EntryPlan]) -> EntryPlan:
    try:
        return make()
    except PeciaError as error:
        return EntryPlan("failed", why=error.message)


def _plan_add(editor: CodeEditor, text: str, wish: EntryRequest) -> EntryPlan:
    before = editor.format.read(text)
    found, is_there = _find_entry(editor, before)
    if is_there and not is_ours(editor, found) and not wish.force:
        return EntryPlan("skipped-custom", why=_why_custom(found))
    old = found if isinstance(found, dict) and is_ours(editor, found) else {}
    toolset = wish.toolset or _toolset(old)
    wanted = build_entry(editor, wish.command, toolset, wish.home)
    if is_there and found == wanted:
        return EntryPlan("unchanged", why="it has this entry already")
    after = _with_entry(editor, text, old, wanted)
    _require_same(editor, after, _expect(editor, before, wanted))
    return EntryPlan("overwritten" if is_there else "written", after)


def _with_entry(
    editor: CodeEditor, text: str, old: Mapping[str, Json], wanted: Mapping[str, Json]
) -> str:
    """An entry of ours changes only where it must: a remark in it stays."""
    where = (editor.key, NAME)
    if not old:
        return editor.format.put(text, where, dict(wanted))
    for key, value in wanted.items():
        if old.get(key) != value:
            text = editor.format.put(text, (*where, key), value)
    for key in old.keys() - wanted.keys():
        text = editor.format.drop(text, (*where, key))
    return text


def _plan_remove(editor: CodeEditor, text: str, *, force: bool) -> EntryPlan:
    before = editor.format.read(text)
    found, is_there = _find_entry(editor, before)
    if not is_there:
        return EntryPlan("unchanged", why="it has no entry of ours")
    if not is_ours(editor, found) and not force:
        return EntryPlan("skipped-custom", why=_why_custom(found))
    after = editor.format.drop(text, (editor.key, NAME))
    servers = cast(dict[str, Json], before[editor.key])
    rest = {name: it for name, it in servers.items() if name != NAME}
    others = {key: it for key, it in before.items() if key != editor.key}
    # A table of TOML is nothing but its entries: it goes with the last of them.
    is_gone = not rest and editor.key not in editor.format.read(after)
    _require_same(editor, after, others if is_gone else {**before, editor.key: rest})
    return EntryPlan("removed", after)


def _find_entry(editor: CodeEditor, document: Mapping[str, Json]) -> tuple[Json, bool]:
    servers = document.get(editor.key, {})
    if not isinstance(servers, dict):
        raise Unprocessable(f"`{editor.key}` in it holds no servers by name")
    return servers.get(NAME), NAME in servers


def _expect(
    editor: CodeEditor, before: Mapping[str, Json], wanted: dict[str, Json]
) -> dict[str, Json]:
    servers = cast(dict[str, Json], before.get(editor.key, {}))
    return {**before, editor.key: {**servers, NAME: wanted}}


def _require_same(editor: CodeEditor, text: str, expected: Mapping[str, Json]) -> None:
    try:
        is_same = editor.format.read(text) == expected
    except PeciaError:
        is_same = False
    if not is_same:
        raise Unprocessable(
            f"it is laid out so that `{editor.key}` cannot be changed in place: "
            "add or change the entry by hand"
        )


def _toolset(found: Json) -> str | None:
    words = found.get("args") if isinstance(found, dict) else None
    if isinstance(words, list) and len(words) == 3 and words[:2] == ["mcp", "--toolset"]:
        return words[2] if isinstance(words[2], str) else None
    return None


def _home(found: Mapping[str, Json]) -> str | None:
    env = found.get("env")
    home = env.get(HOME_VARIABLE) if isinstance(env, dict) else None
    return home if isinstance(home, str) else None


def _why_custom(found: Json) -> str:
    if isinstance(found, dict) and ("url" in found or "serverUrl" in found):
        return f"its `{NAME}` entry connects by address"
    return f"its `{NAME}` entry was written or changed by hand"
