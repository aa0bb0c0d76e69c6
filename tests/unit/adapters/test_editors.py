"""Where editors keep their servers, under which path they start us, and how a file is replaced."""

import json
import os
import stat
from dataclasses import replace
from pathlib import Path

import pytest

from pecia.adapters.editors import config_file, jsonc
from pecia.adapters.editors.catalog import Machine, known_editors
from pecia.adapters.editors.command_path import find_command_path, is_temporary
from pecia.adapters.editors.install import detect_editors, install_entries
from pecia.adapters.editors.marker import has_marker
from pecia.adapters.editors.plan import EntryRequest, build_entry, plan_add, plan_remove
from pecia.kernel.errors import Conflict, Json, NotFound

HOME = Path("/home/ana")
COMMAND = "/opt/pecia"
GUIDE = Path(__file__).parents[3] / "docs" / "connect.md"


def paths(machine: Machine) -> dict[str, str]:
    return {it.id: str(it.file) for it in known_editors(machine)}


@pytest.mark.requirement("memory.client.claude_desktop_macos")
def test_on_a_mac_claude_desktop_and_vs_code_keep_their_files_in_application_support() -> None:
    found = paths(Machine(Path("/Users/ana"), "darwin", {}))
    support = "/Users/ana/Library/Application Support"
    assert found["claude-desktop"] == f"{support}/Claude/claude_desktop_config.json"
    assert found["vscode"] == f"{support}/Code/User/mcp.json"


@pytest.mark.requirement("memory.client.claude_desktop_windows")
def test_the_guide_names_the_file_of_claude_desktop_on_windows() -> None:
    text = GUIDE.read_text(encoding="utf-8")
    assert r"%APPDATA%\Claude\claude_desktop_config.json" in text
    block = next(it for it in text.split("```") if it.startswith("json") and "wsl.exe" in it)
    servers = json.loads(block.removeprefix("json"))["mcpServers"]
    assert servers["pecia"] == {"command": "wsl.exe", "args": ["pecia", "mcp"]}


def test_on_linux_files_lie_in_the_home() -> None:
    assert paths(Machine(HOME, "linux", {})) == {
        "claude": "/home/ana/.claude.json",
        "claude-desktop": "/home/ana/.config/Claude/claude_desktop_config.json",
        "cursor": "/home/ana/.cursor/mcp.json",
        "vscode": "/home/ana/.config/Code/User/mcp.json",
        "codex": "/home/ana/.codex/config.toml",
        "windsurf": "/home/ana/.codeium/windsurf/mcp_config.json",
    }


def test_variables_move_the_files_of_the_editors_that_heed_them() -> None:
    env = {"XDG_CONFIG_HOME": "/c", "CODEX_HOME": "/x", "CLAUDE_CONFIG_DIR": "/k"}
    found = paths(Machine(HOME, "linux", env))
    assert found["vscode"] == "/c/Code/User/mcp.json"
    assert found["codex"] == "/x/config.toml"
    assert found["claude"] == "/k/.claude.json"
    relative = paths(Machine(HOME, "linux", {"CODEX_HOME": "x"}))
    assert relative["codex"] == "/home/ana/.codex/config.toml"


@pytest.mark.parametrize("home", [HOME, Path("/Users/ana")])
@pytest.mark.requirement("wiki.wiring.entry_shape")
def test_an_entry_names_the_program_and_the_word_mcp(home: Path) -> None:
    for it in known_editors(Machine(home, "linux", {})):
        typed = {"type": "stdio"} if it.id == "vscode" else {}
        assert build_entry(it, COMMAND) == {**typed, "command": COMMAND, "args": ["mcp"]}


def test_a_toolset_stands_in_the_words() -> None:
    editor = known_editors(Machine(HOME, "linux", {}))[0]
    assert build_entry(editor, COMMAND, "wiki")["args"] == ["mcp", "--toolset", "wiki"]
    assert build_entry(editor, COMMAND, "desk")["args"] == ["mcp"]


def test_only_editors_that_are_there_are_found_and_none_is_made(tmp_path: Path) -> None:
    (tmp_path / ".cursor").mkdir()
    (tmp_path / ".claude.json").write_text("{}", encoding="utf-8")
    machine = Machine(tmp_path, "linux", {})
    assert [it.id for it in detect_editors(machine)] == ["claude", "cursor"]
    outcomes = install_entries(known_editors(machine), EntryRequest(COMMAND))
    missing = [it.editor.id for it in outcomes if it.status == "skipped-missing"]
    assert missing == ["claude-desktop", "vscode", "codex", "windsurf"]
    assert sorted(it.name for it in tmp_path.iterdir()) == [".claude.json", ".cursor"]


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("{bad", "not JSON: Expecting property name enclosed in double quotes in line 1, column 2"),
        ("[]", "not a JSON object"),
        ('{"mcpServers": []}', "`mcpServers` in it holds no servers by name"),
        ('{"a": NaN}', "NaN is no value"),
    ],
)
def test_a_file_that_is_no_such_file_is_left_alone_with_the_reason(text: str, why: str) -> None:
    cursor = known_editors(Machine(HOME, "linux", {}))[2]
    for planned in (plan_add(cursor, text, EntryRequest(COMMAND)), plan_remove(cursor, text)):
        assert (planned.status, planned.text) == ("failed", None)
        assert why in planned.why


def test_a_comment_stays_beside_what_it_is_about() -> None:
    code = next(it for it in known_editors(Machine(HOME, "linux", {})) if it.id == "vscode")
    text = '{\n  "servers": {\n    "a": {} // about a\n  }\n}\n'
    planned = plan_add(code, text, EntryRequest(COMMAND))
    assert planned.text == (
        '{\n  "servers": {\n    "a": {}, // about a\n    "pecia": {\n      "type": "stdio",\n'
        f'      "command": "{COMMAND}",\n      "args": ["mcp"]\n    }}\n  }}\n}}\n'
    )
    assert plan_remove(code, planned.text).text == text


@pytest.mark.parametrize(
    "text",
    [
        '{\n  "mcpServers": {\n    "a": {}, // last\n  },\n}\n',
        '{\r\n\t"mcpServers": {\r\n\t\t"a": {}\r\n\t}\r\n}',
    ],
)
def test_a_file_is_to_the_byte_what_it_was_when_our_entry_is_taken_out(text: str) -> None:
    cursor = known_editors(Machine(HOME, "linux", {}))[2]
    planned = plan_add(cursor, text, EntryRequest(COMMAND))
    assert plan_remove(cursor, planned.text).text == text


def test_a_table_that_comes_and_goes_leaves_no_lines_behind() -> None:
    codex = known_editors(Machine(HOME, "linux", {}))[4]
    text: str | None = "[tui]\nx = 1\n\n"
    for _ in range(2):
        text = plan_remove(codex, plan_add(codex, text, EntryRequest(COMMAND)).text).text
        assert text == "[tui]\nx = 1\n\n"


def test_of_two_keys_of_one_name_the_one_that_counts_is_changed() -> None:
    cursor = known_editors(Machine(HOME, "linux", {}))[2]
    text = '{"mcpServers": {"a": {}}, "mcpServers": {"b": {}}}'
    planned = plan_add(cursor, text, EntryRequest(COMMAND))
    assert planned.text is not None
    assert jsonc.read(planned.text)["mcpServers"] == {
        "b": {},
        "pecia": build_entry(cursor, COMMAND),
    }
    assert '"mcpServers": {"a": {}},' in planned.text


@pytest.fixture
def installed(tmp_path: Path) -> Path:
    """A program of an installation, and a folder of links beside it."""
    script = tmp_path / "tool" / "bin" / "pecia"
    script.parent.mkdir(parents=True)
    script.touch(mode=0o755)
    (tmp_path / "links").mkdir()
    return script


@pytest.mark.requirement("wiki.wiring.owned_symlink_first")
def test_a_link_on_the_path_that_leads_to_us_is_what_editors_start(
    installed: Path, tmp_path: Path
) -> None:
    link = tmp_path / "links" / "pecia"
    link.symlink_to(installed)
    assert find_command_path(installed, [".", "/none", str(link.parent)]) == link


@pytest.mark.requirement("wiki.wiring.absolute_path_else", "wiki.wiring.cli_origin_shape")
def test_a_link_of_another_installation_is_not_taken(installed: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.touch()
    (tmp_path / "links" / "pecia").symlink_to(other)
    assert (
        find_command_path(installed, [str(tmp_path / "links"), str(installed.parent)]) == installed
    )


def test_without_a_program_there_is_nothing_that_an_editor_could_start(tmp_path: Path) -> None:
    with pytest.raises(NotFound, match="no program"):
        find_command_path(tmp_path / "pecia", [])


@pytest.mark.parametrize(
    ("path", "is_so"),
    [
        ("/home/ana/.cache/uv/archive-v0/x1/bin/pecia", True),
        ("/Users/ana/Library/Caches/uv/archive-v0/x1/bin/pecia", True),
        ("/home/ana/.local/bin/pecia", False),
    ],
)
def test_a_program_in_a_cache_is_one_that_may_be_gone_tomorrow(path: str, is_so: bool) -> None:
    assert is_temporary(Path(path)) is is_so


def test_a_file_keeps_its_mode_and_a_link_stays_a_link(tmp_path: Path) -> None:
    target = tmp_path / "dotfiles" / "mcp.json"
    target.parent.mkdir()
    target.write_text("old", encoding="utf-8")
    target.chmod(0o640)
    link = tmp_path / "mcp.json"
    link.symlink_to(target)
    config_file.replace_text(link, "new", was="old")
    assert link.is_symlink()
    assert target.read_text(encoding="utf-8") == "new"
    assert stat.S_IMODE(target.stat().st_mode) == 0o640
    assert [it.name for it in target.parent.iterdir()] == ["mcp.json"]


def test_a_file_that_another_program_changed_meanwhile_is_not_overwritten(tmp_path: Path) -> None:
    path = tmp_path / "mcp.json"
    path.write_text("theirs", encoding="utf-8")
    with pytest.raises(Conflict):
        config_file.replace_text(path, "ours", was="what we read")
    assert [it.read_text(encoding="utf-8") for it in tmp_path.iterdir()] == ["theirs"]


def test_what_an_editor_wrote_at_the_same_moment_is_kept_and_ours_added(tmp_path: Path) -> None:
    (tmp_path / ".cursor").mkdir()
    cursor = detect_editors(Machine(tmp_path, "linux", {}))[0]
    theirs = ['{"a": 1}', '{"a": 2}']

    def read_and_meddle(text: str) -> dict[str, Json]:
        """The editor writes its file while we think about what we read of it."""
        if theirs:
            cursor.file.write_text(theirs.pop(), encoding="utf-8")
        return cursor.format.read(text)

    meddled = replace(cursor, format=replace(cursor.format, read=read_and_meddle))
    assert [it.status for it in install_entries([meddled], EntryRequest(COMMAND))] == ["written"]
    found = jsonc.read(cursor.file.read_text(encoding="utf-8"))
    assert found == {"a": 1, "mcpServers": {"pecia": build_entry(cursor, COMMAND)}}


def test_a_file_that_never_rests_is_left_to_its_editor(tmp_path: Path) -> None:
    (tmp_path / ".cursor").mkdir()
    cursor = detect_editors(Machine(tmp_path, "linux", {}))[0]
    count = iter(range(100))

    def read_and_meddle(text: str) -> dict[str, Json]:
        cursor.file.write_text(f'{{"a": {next(count)}}}', encoding="utf-8")
        return cursor.format.read(text)

    meddled = replace(cursor, format=replace(cursor.format, read=read_and_meddle))
    outcome = install_entries([meddled], EntryRequest(COMMAND))[0]
    assert outcome.status == "failed"
    assert outcome.why == "it was changed by another program at the same moment"
    assert "pecia" not in cursor.file.read_text(encoding="utf-8")


def test_a_new_file_is_its_users_alone(tmp_path: Path) -> None:
    config_file.replace_text(tmp_path / "mcp.json", "{}", was=None)
    assert stat.S_IMODE((tmp_path / "mcp.json").stat().st_mode) == 0o600


def test_a_home_that_cannot_be_looked_at_holds_no_answer() -> None:
    assert not has_marker(Path(f"/{'x' * 300}"))


@pytest.mark.skipif(os.geteuid() != 0, reason="only root writes for somebody else")
def test_a_new_file_belongs_to_whom_the_folder_of_the_editor_belongs(tmp_path: Path) -> None:
    os.chown(tmp_path, 12345, 12346)
    config_file.replace_text(tmp_path / "mcp.json", "{}", was=None)
    made = (tmp_path / "mcp.json").stat()
    assert (made.st_uid, made.st_gid) == (12345, 12346)


def test_a_folder_that_cannot_be_looked_at_hides_no_other_editor(tmp_path: Path) -> None:
    (tmp_path / ".cursor").mkdir()
    unseen = {"CLAUDE_CONFIG_DIR": f"/{'x' * 300}"}
    machine = Machine(tmp_path, "linux", unseen)
    assert [it.id for it in detect_editors(machine)] == ["cursor"]
    assert (
        install_entries(known_editors(machine), EntryRequest(COMMAND))[0].status
        == "skipped-missing"
    )


def test_what_cannot_be_read_fails_for_its_editor_and_for_no_other(tmp_path: Path) -> None:
    for name in (".cursor", ".claude"):
        (tmp_path / name).mkdir()
    (tmp_path / ".claude.json").mkdir()
    (tmp_path / ".codex").mkdir()
    (tmp_path / ".codex" / "config.toml").write_bytes(b"\xff\xfe")
    outcomes = install_entries(
        detect_editors(Machine(tmp_path, "linux", {})), EntryRequest(COMMAND)
    )
    found = {it.editor.id: (it.status, it.why) for it in outcomes}
    assert found["claude"] == ("failed", "it is not a file")
    assert found["codex"] == ("failed", "it is not UTF-8 text: invalid start byte")
    assert found["cursor"] == ("written", "")
    assert (tmp_path / ".codex" / "config.toml").read_bytes() == b"\xff\xfe"
