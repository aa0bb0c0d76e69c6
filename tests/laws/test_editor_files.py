"""Our entry goes into any editor's file, and comes out again; nothing else in the file changes."""

import json
import re
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from pecia.adapters.editors import jsonc, toml
from pecia.adapters.editors.catalog import CodeEditor, Machine, known_editors
from pecia.adapters.editors.plan import (
    NAME,
    EntryRequest,
    build_entry,
    is_ours,
    plan_add,
    plan_remove,
)
from pecia.kernel.errors import Json
from tests.soak import SOAK

COUNT = 3_000 if SOAK else 60
COMMAND = "/opt/pecia/bin/pecia"
EVERY = {it.id: it for it in known_editors(Machine(Path("/home/ana"), "linux", {}))}
CODEX = EVERY["codex"]
JSON_EDITORS = st.sampled_from([it for it in EVERY.values() if it is not CODEX])

BLANKS = ("", "", "", " ", "\t", "\n", "\n  ", "\r\n    ")
SPACES = (*BLANKS, " // a, b }\n", "/* { */", "\n\t// \u2028é\n")
keys = st.sampled_from(["a", "mcpServers", "servers", "", "//", NAME]) | st.text(
    'a"\\/*é{', max_size=4
)
scalars = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.text('a"\\/*,{}[]\n\té😀', max_size=6)
    | st.sampled_from([1.5, -0.0, 1e300])
)
values: st.SearchStrategy[Json] = st.recursive(
    scalars, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(keys, inner, max_size=3)
)


@st.composite
def written(draw: st.DrawFn, value: Json, is_plain: bool) -> str:
    """A value as a person or a program laid it out; unless plain, with comments, extra commas."""
    spaces = st.sampled_from(BLANKS if is_plain else SPACES)
    before, after = draw(spaces), draw(spaces)
    if isinstance(value, dict):
        rows = [
            f"{draw(written(key, is_plain))}:{draw(written(it, is_plain))}"
            for key, it in value.items()
        ]
    elif isinstance(value, list):
        rows = [draw(written(it, is_plain)) for it in value]
    else:
        return f"{before}{json.dumps(value, ensure_ascii=False)}{after}"
    comma = "," + draw(spaces) if rows and not is_plain and draw(st.booleans()) else ""
    opening, closing = "{}" if isinstance(value, dict) else "[]"
    return f"{before}{opening}{','.join(rows)}{comma}{draw(spaces)}{closing}{after}"


@st.composite
def files(draw: st.DrawFn) -> tuple[CodeEditor, str]:
    """An editor, and a file of its that has any servers or none, ours among them or not."""
    editor = draw(JSON_EDITORS)
    document = draw(st.dictionaries(keys, values, max_size=4))
    if draw(st.booleans()):
        document[editor.key] = draw(st.dictionaries(keys, values, max_size=3))
    is_plain = draw(st.booleans())
    mark = "" if is_plain else draw(st.sampled_from(["", "\ufeff"]))
    return editor, mark + draw(written(document, is_plain))


@settings(max_examples=COUNT, deadline=None)
@given(files())
def test_our_entry_is_added_and_the_rest_of_the_file_stays_equal(
    given: tuple[CodeEditor, str],
) -> None:
    editor, text = given
    before = jsonc.read(text)
    planned = plan_add(editor, text, EntryRequest(COMMAND, force=True))
    if not isinstance(before.get(editor.key, {}), dict):
        assert (planned.status, planned.text) == ("failed", None)
        return
    assert planned.status in ("written", "overwritten")
    assert planned.text is not None
    assert jsonc.read(planned.text) == _with(editor, before, build_entry(editor, COMMAND))
    assert plan_add(editor, planned.text, EntryRequest(COMMAND)).status == "unchanged"
    if planned.status == "written":
        assert _is_within(text, planned.text)
        assert _comments(planned.text) == _comments(text)
        assert _is_strict(planned.text) or not _is_strict(text)


@settings(max_examples=COUNT, deadline=None)
@given(files())
def test_what_was_added_comes_out_again_and_every_comment_stays(
    given: tuple[CodeEditor, str],
) -> None:
    editor, text = given
    planned = plan_add(editor, text, EntryRequest(COMMAND))
    if planned.status != "written":
        return
    assert planned.text is not None
    back = plan_remove(editor, planned.text)
    assert back.status == "removed"
    assert back.text is not None
    rest = jsonc.read(back.text)
    before = jsonc.read(text)
    assert rest == ({**before, editor.key: {}} if editor.key not in before else before)
    assert _comments(back.text) == _comments(text)
    assert _is_strict(back.text) or not _is_strict(text)


@settings(max_examples=COUNT, deadline=None)
@given(files(), st.sampled_from(["/old/pecia", "pecia"]), st.sampled_from([None, "wiki", "all"]))
def test_an_older_entry_of_ours_gets_the_new_path_and_keeps_its_toolset(
    given: tuple[CodeEditor, str], old: str, toolset: str | None
) -> None:
    editor, text = given
    first = plan_add(editor, text, EntryRequest(old, toolset, force=True))
    if first.text is None:
        return
    second = plan_add(editor, first.text, EntryRequest(COMMAND))
    assert second.status == "overwritten"
    assert second.text is not None
    expected = _with(editor, jsonc.read(text), build_entry(editor, COMMAND, toolset))
    assert jsonc.read(second.text) == expected
    assert second.text.replace(COMMAND, old) == first.text


@settings(max_examples=COUNT, deadline=None)
@given(files())
def test_an_entry_that_is_not_ours_is_kept_to_the_byte(given: tuple[CodeEditor, str]) -> None:
    editor, text = given
    servers = jsonc.read(text).get(editor.key)
    found = servers.get(NAME) if isinstance(servers, dict) else None
    is_there = isinstance(servers, dict) and NAME in servers
    if is_there and not is_ours(editor, found):
        for planned in (plan_add(editor, text, EntryRequest(COMMAND)), plan_remove(editor, text)):
            assert (planned.status, planned.text) == ("skipped-custom", None)
            assert planned.why


TABLES = (
    "[mcp_servers.other]\ncommand = 'x' # mine\nargs = [\n  'a', # [b]\n  ']',\n]\n",
    '[mcp_servers.other.env]\nKEY = "[mcp_servers.pecia]"\n',
    "# about servers\n[ mcp_servers . 'odd name' ]\nurl = 'u'\n",
    '[profiles]\ntext = """\n[mcp_servers.pecia]\ncommand = "no"\n# not a remark\n"""\n',
    "[[hooks]]\nwhen = 2026-01-01T00:00:00Z\n[[hooks]]\nratio = nan\n",
    "[tui]\nnotifications = [['a'], ['b']]\n[tui.x]\n",
    "[mcp_servers]\n",
    "# the end\n",
)
HEADS = (
    "",
    "model = 'm' # best\n",
    "\n# first\n",
    "mcp_servers.dotted.command = 'x'\n",
    "n = inf\n",
)
INLINE = "mcp_servers = { other = { command = 'x' } }\n"


@st.composite
def toml_files(draw: st.DrawFn) -> str:
    head = draw(st.sampled_from([*HEADS, INLINE]))
    blocked = head.startswith("mcp_servers")
    pool = [it for it in TABLES if not (blocked and "[mcp_servers]" in it)]
    pool = [it for it in pool if not (head == INLINE and "mcp_servers" in it.split("=")[0])]
    tables = draw(st.lists(st.sampled_from(pool), unique=True, max_size=5))
    text = draw(st.sampled_from(["", "\n"])).join([head, *tables])
    text = text[: -len("\n")] if draw(st.booleans()) and text.endswith("\n") else text
    return text.replace("\n", draw(st.sampled_from(["\n", "\r\n"])))


@settings(max_examples=COUNT, deadline=None)
@example("a = 1\r\n[x]\r\nb = 2\r\n", None, "\n# about z\n[z]\nk = 1\n")
@example("[mcp_servers.a]\nk = 1\n# about z\n[z]\nk = 1\n", None, "")
@given(
    toml_files(),
    st.sampled_from([None, "wiki"]),
    st.sampled_from(["", "\n# about z\n[z]\nk = 1\n"]),
)
def test_our_table_goes_into_toml_and_out_again(text: str, toolset: str | None, more: str) -> None:
    before = toml.read(text)
    planned = plan_add(CODEX, text, EntryRequest("/old dir/pecia", toolset))
    if "{ other" in text:
        assert planned.status == "failed"
        return
    assert planned.status == "written"
    assert planned.text is not None
    assert planned.text.startswith(text)
    newer = plan_add(CODEX, planned.text, EntryRequest(COMMAND))
    assert newer.text is not None
    assert newer.text.replace(COMMAND, "/old dir/pecia") == planned.text
    assert toml.read(newer.text) == _with(CODEX, before, build_entry(CODEX, COMMAND, toolset))
    assert plan_add(CODEX, newer.text, EntryRequest(COMMAND)).status == "unchanged"
    back = plan_remove(CODEX, newer.text + more)
    assert back.status == "removed"
    assert back.text is not None
    assert [*filter(None, back.text.splitlines())] == [
        *filter(None, (text + "\n" + more).splitlines())
    ]


@settings(max_examples=COUNT, deadline=None)
@given(st.text(max_size=40) | st.text('{}[]",:/*#=\n a1', max_size=40))
def test_whatever_a_file_holds_it_is_changed_rightly_or_not_at_all(text: str) -> None:
    for editor in (EVERY["vscode"], CODEX):
        planned = plan_add(editor, text, EntryRequest(COMMAND))
        if planned.text is None:
            assert planned.status in ("failed", "skipped-custom")
            assert planned.why
        else:
            before = editor.format.read(text)
            wanted = _with(editor, before, build_entry(editor, COMMAND))
            assert editor.format.read(planned.text) == wanted


@pytest.mark.parametrize("editor", EVERY.values(), ids=EVERY)
def test_a_file_that_is_not_there_is_made_with_our_entry_alone(editor: CodeEditor) -> None:
    planned = plan_add(editor, None, EntryRequest(COMMAND))
    assert planned.text is not None
    assert editor.format.read(planned.text) == {editor.key: {NAME: build_entry(editor, COMMAND)}}
    assert planned.text.endswith("\n")


def _with(editor: CodeEditor, before: dict[str, Json], ours: dict[str, Json]) -> dict[str, Json]:
    servers = before.get(editor.key, {})
    assert isinstance(servers, dict)
    return {**before, editor.key: {**servers, NAME: ours}}


def _comments(text: str) -> list[str]:
    found = re.findall(r'"(?:[^"\\]|\\.)*"|//[^\r\n]*|/\*.*?\*/', text, re.DOTALL)
    return [it for it in found if not it.startswith('"')]


def _is_within(less: str, more: str) -> bool:
    """Whether every character that is no space of one stands in the other, in order."""
    rest = iter("".join(more.split()))
    return all(it in rest for it in "".join(less.split()))


def _is_strict(text: str) -> bool:
    """Whether a reader that knows no comments reads it: most editors are such readers."""
    try:
        json.loads(text)
    except ValueError:
        return False
    return True
