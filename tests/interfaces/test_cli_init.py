"""`pecia init` and the question of the first start, as processes in a home of their own."""

import fcntl
import json
import os
import pty
import shlex
import subprocess
import sys
import termios
import tomllib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from socket import create_server
from typing import Any

import pytest

from pecia.adapters.editors import jsonc
from tests.warm.start import pecia

SCRIPT = str(Path(sys.executable).parent / "pecia")
OURS = {"command": SCRIPT, "args": ["mcp"]}
FILES = {
    "claude": ".claude.json",
    "claude-desktop": ".config/Claude/claude_desktop_config.json",
    "cursor": ".cursor/mcp.json",
    "vscode": ".config/Code/User/mcp.json",
    "codex": ".codex/config.toml",
    "windsurf": ".codeium/windsurf/mcp_config.json",
}
FOLDERS = {**{name: str(Path(it).parent) for name, it in FILES.items()}, "claude": ".claude"}
LIMIT_S = 50


@dataclass(frozen=True, slots=True)
class Ended:
    """What a command said, and how it ended."""

    code: int
    out: str
    err: str = ""

    @property
    def by_editor(self) -> dict[str, str]:
        return {it["editor"]: it["status"] for it in json.loads(self.out)["editors"]}


@dataclass(frozen=True, slots=True)
class User:
    """A home, the editors in it, and commands run there."""

    home: Path

    def have(self, *editors: str) -> None:
        for name in editors:
            (self.home / FOLDERS[name]).mkdir(parents=True)

    def write(self, editor: str, text: str) -> None:
        path = self.home / FILES[editor]
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")

    def text(self, editor: str) -> str:
        return (self.home / FILES[editor]).read_text(encoding="utf-8")

    def json(self, editor: str) -> dict[str, Any]:
        return jsonc.read(self.text(editor))

    @property
    def marker(self) -> Path:
        return self.home / ".pecia" / "mcp-status.json"

    @property
    def note(self) -> dict[str, Any]:
        return json.loads(self.marker.read_text(encoding="utf-8"))

    @property
    def env(self) -> dict[str, str]:
        path = os.environ["PATH"]
        return {"PATH": path, "HOME": str(self.home), "XDG_DATA_HOME": str(self.home / "data")}

    def run(self, *words: object, env: Mapping[str, str] | None = None) -> Ended:
        """A command that nobody could answer."""
        done = subprocess.run(
            pecia(*words),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=LIMIT_S,
            env={**self.env, **(env or {})},
            cwd=self.home,
        )
        return Ended(done.returncode, done.stdout, done.stderr)

    def type(self, answer: str, *words: object) -> Ended:
        """A command at a terminal, and what a person types there."""
        ours, theirs = pty.openpty()
        process = subprocess.Popen(
            pecia(*words), stdin=theirs, stdout=theirs, stderr=theirs, env=self.env, cwd=self.home
        )
        os.close(theirs)
        os.write(ours, answer.encode())
        said = b"".join(_read(ours))
        os.close(ours)
        return Ended(process.wait(LIMIT_S), said.decode().replace("\r\n", "\n"))

    def files(self) -> dict[str, bytes]:
        """Every file of this home, apart from Pecia's data."""
        return {
            str(it.relative_to(self.home)): it.read_bytes()
            for it in self.home.rglob("*")
            if it.is_file() and "data" not in it.relative_to(self.home).parts
        }


@pytest.fixture
def ana(tmp_path: Path) -> User:
    return User(tmp_path)


@pytest.fixture
def start(ana: User) -> Iterator[Callable[[str], Ended]]:
    """`pecia start` at a terminal, in a folder of its own, that ends after its question.

    The port that it insists on is taken: no server is needed to see what is asked before.
    """
    (ana.home / "notes").mkdir()
    with create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        yield lambda answer: ana.type(answer, "start", "notes", "--port", port)


@pytest.mark.requirement(
    "wiki.clients.claude_code",
    "wiki.clients.claude_desktop",
    "wiki.clients.cursor",
    "wiki.clients.windsurf",
    "wiki.clients.vscode",
    "wiki.clients.codex",
    "wiki.wiring.add_writes_user_entries",
)
def test_every_editor_that_is_there_gets_our_entry(ana: User) -> None:
    ana.have(*FILES)
    done = ana.run("init", "--json")
    assert done.code == 0, done.err
    assert set(done.by_editor.values()) == {"written"}
    for name in ("claude", "claude-desktop", "cursor", "windsurf"):
        assert ana.json(name) == {"mcpServers": {"pecia": OURS}}
    assert ana.json("vscode") == {"servers": {"pecia": {"type": "stdio", **OURS}}}
    assert tomllib.loads(ana.text("codex")) == {"mcp_servers": {"pecia": OURS}}
    assert ana.note["editors"] == list(FILES)


def test_a_home_of_ones_own_is_part_of_the_entry_and_is_taken_out_with_it(ana: User) -> None:
    ana.have(*FILES)
    ana.write("cursor", '{"mcpServers": {"x": {}} } // mine')
    ana.write("codex", '# mine\n[mcp_servers.x]\ncommand = "x"\n')
    before = ana.files()
    home = str(ana.home / "data" / "other")
    named = {"PECIA_HOME": home}
    assert ana.run("init", "--no-skill", env=named).code == 0
    entry = {**OURS, "env": named}
    assert ana.json("claude") == {"mcpServers": {"pecia": entry}}
    assert ana.json("vscode") == {"servers": {"pecia": {"type": "stdio", **entry}}}
    assert tomllib.loads(ana.text("codex"))["mcp_servers"]["pecia"] == entry
    again = ana.run("init", "--no-skill", "--json", env=named)
    assert set(again.by_editor.values()) == {"unchanged"}
    # What an editor starts finds that home, whatever its own environment is.
    refused = ana.run("mcp", env=named)
    assert f"no server is running for {home}" in refused.err + refused.out
    undone = ana.run("init", "--undo", "--json", env=named)
    assert set(undone.by_editor.values()) == {"removed"}
    assert {name: it for name, it in ana.files().items() if name in before} == before
    assert not (ana.home / FILES["claude"]).exists()


def test_an_entry_follows_the_home_to_the_default_and_back(ana: User) -> None:
    ana.have("cursor", "codex")
    named = {"PECIA_HOME": str(ana.home / "data" / "other")}
    for env, entry in (
        (named, {**OURS, "env": named}),
        ({}, OURS),
        (named, {**OURS, "env": named}),
    ):
        assert ana.run("init", "--no-skill", env=env).code == 0
        assert ana.json("cursor") == {"mcpServers": {"pecia": entry}}
        assert tomllib.loads(ana.text("codex")) == {"mcp_servers": {"pecia": entry}}


def test_a_second_run_changes_no_file(ana: User) -> None:
    ana.have(*FILES)
    ana.run("init")
    before = ana.files()
    again = ana.run("init", "--json")
    assert set(again.by_editor.values()) == {"unchanged"}
    assert ana.files() == before


def test_a_dry_run_tells_what_would_be_and_writes_nothing(ana: User) -> None:
    ana.have(*FILES)
    done = ana.run("init", "--dry-run")
    assert done.code == 0
    assert "Cursor          would be added  ~/.cursor/mcp.json" in done.out
    assert ana.files() == {}


def test_a_person_reads_what_was_done_what_was_not_and_what_to_do(ana: User) -> None:
    ana.have("claude", "cursor")
    ana.write("windsurf", "{bad")
    ana.write("vscode", '{"servers": {"pecia": {"type": "http", "url": "http://x/mcp"}}}')
    done = ana.run("init")
    assert done.code == 1
    assert done.out.splitlines() == [
        "Claude Code     skill added: ~/.claude/skills/pecia/SKILL.md",
        "Cursor          skill added: ~/.cursor/skills/pecia/SKILL.md",
        "Claude Code     added   ~/.claude.json",
        "Cursor          added   ~/.cursor/mcp.json",
        "VS Code         kept    ~/.config/Code/User/mcp.json  "
        "(its `pecia` entry connects by address)",
        "Windsurf        failed  ~/.codeium/windsurf/mcp_config.json  (it is not JSON: "
        "Expecting property name enclosed in double quotes in line 1, column 2)",
        "Restart Claude Code and Cursor or reload the MCP servers there, for this to take effect.",
        f"They start: {SCRIPT} mcp",
        "One that starts it outside of a project, as Claude Desktop does, needs a server that "
        "runs, or a folder: pecia init --space FOLDER",
        "To replace what is your own in VS Code: pecia init --force",
        "Not changed: Windsurf. Fix the file, then run pecia init again.",
    ]
    assert ana.text("windsurf") == "{bad"


@pytest.mark.requirement("wiki.wiring.custom_entry_kept", "wiki.wiring.reset_by_hand")
def test_an_entry_of_ones_own_is_kept_until_it_is_forced(ana: User) -> None:
    own = '{"mcpServers": {"pecia": {"command": "uvx", "args": ["pecia", "mcp"]},'
    own += ' "open-knowledge": {"command": "npx"}}}'
    ana.write("cursor", own)
    assert ana.run("init", "--json").by_editor == {"cursor": "skipped-custom"}
    assert ana.text("cursor") == own
    assert ana.note["editors"] == []
    assert ana.run("init", "--force", "--json").by_editor == {"cursor": "overwritten"}
    servers = {"pecia": OURS, "open-knowledge": {"command": "npx"}}
    assert ana.json("cursor") == {"mcpServers": servers}


def test_undo_takes_out_what_init_put_in_and_nobody_is_asked_again(ana: User) -> None:
    before = '{\n  // mine\n  "mcpServers": {\n    "other": {"command": "x"}\n  }\n}\n'
    ana.write("cursor", before)
    ana.run("init")
    done = ana.run("init", "--undo", "--json")
    assert done.by_editor == {"cursor": "removed"}
    assert ana.text("cursor") == before
    assert ana.note["configured"] is False


def test_undo_brings_back_an_entry_of_ones_own_that_was_forced_out(ana: User) -> None:
    key = '"headers": {"Authorization": "Bearer of our team"}'
    own = f'{{"mcpServers": {{"pecia": {{"url": "https://kb.example/mcp", {key}}}}}, "n": 1.0}}\n'
    ana.write("cursor", own)
    ana.run("init", "--force")
    ana.run("init", "--toolset", "wiki")
    assert ana.json("cursor")["mcpServers"]["pecia"]["command"]
    ana.run("init", "--undo")
    assert ana.text("cursor") == own
    assert ana.run("init", "--undo", "--json").by_editor == {"cursor": "skipped-custom"}
    assert ana.text("cursor") == own


def test_undo_of_what_the_first_start_added_is_byte_for_byte_too(
    start: Callable[[str], Ended], ana: User
) -> None:
    before = '{ "mcpServers" : {} , "n": 1.0 }'
    ana.write("cursor", before)
    start("\n")
    assert "pecia" in ana.json("cursor")["mcpServers"]
    ana.run("init", "--undo")
    assert ana.text("cursor") == before


def test_what_undo_cannot_heed_is_refused(ana: User) -> None:
    ana.have("cursor")
    done = ana.run("init", "--undo", "--toolset", "wiki")
    assert done.code == 2
    assert "--undo takes neither --toolset nor --space" in done.err


def test_an_answer_that_cannot_be_kept_is_told_and_what_was_done_stays(ana: User) -> None:
    ana.have("cursor")
    (ana.home / ".pecia").write_text("a file, where a folder should be", encoding="utf-8")
    done = ana.run("init")
    assert done.code == 0
    assert "warning: the answer could not be saved" in done.err
    assert ana.json("cursor") == {"mcpServers": {"pecia": OURS}}


def test_only_the_named_editor_is_wired(ana: User) -> None:
    ana.have("claude", "cursor")
    done = ana.run("init", "--editor", "cursor", "--toolset", "wiki")
    assert f"They start: {SCRIPT} mcp --toolset wiki\n" in done.out
    args = ana.json("cursor")["mcpServers"]["pecia"]["args"]
    assert args == ["mcp", "--toolset", "wiki"]
    assert not (ana.home / FILES["claude"]).exists()


def test_a_named_editor_that_is_not_there_is_told_and_not_made(ana: User) -> None:
    done = ana.run("init", "--editor", "cursor", "--json")
    assert (done.code, done.by_editor) == (1, {"cursor": "skipped-missing"})
    assert not (ana.home / ".cursor").exists()
    assert not ana.marker.exists()


def test_a_folder_for_editors_outside_of_projects_is_kept_among_the_users_settings(
    ana: User,
) -> None:
    (ana.home / "notes").mkdir()
    config = ana.home / ".config" / "pecia" / "config.yml"
    config.parent.mkdir(parents=True)
    config.write_text("# mine\nport: 7400 # always\n", encoding="utf-8")
    assert ana.run("init", "--space", "notes", "--dry-run").code == 0
    assert "home_space" not in config.read_text(encoding="utf-8")
    assert ana.run("init", "--space", "notes").code == 0
    text = config.read_text(encoding="utf-8")
    assert text.startswith("# mine\nport: 7400 # always\n")
    shown = json.loads(ana.run("config", "wiki.home_space", "--json").out)
    assert shown["value"] == str(ana.home / "notes")
    ana.have("cursor")
    assert "--space FOLDER" not in ana.run("init").out


def test_the_home_of_a_user_is_no_folder_to_serve(ana: User) -> None:
    done = ana.run("init", "--space", ".")
    assert done.code == 1
    assert "too much to serve as one space" in done.err
    assert ana.files() == {}


@pytest.mark.parametrize(("flag", "names"), [("--editor", "claude"), ("--toolset", "desk")])
def test_a_name_that_nobody_has_is_refused_with_those_there_are(
    ana: User, flag: str, names: str
) -> None:
    ana.have("cursor")
    done = ana.run("init", flag, "emacs")
    assert done.code == 2
    assert "'emacs'" in done.err
    assert names in done.err
    assert ana.files() == {}


def test_where_no_editor_is_found_it_is_said_where_was_looked(ana: User) -> None:
    done = ana.run("init")
    assert done.code == 0
    assert str(ana.home / ".cursor") in done.out
    assert ana.files() == {}


@pytest.mark.requirement("wiki.wiring.lists_detected_editors", "wiki.wiring.preselected")
def test_at_a_terminal_the_editors_found_are_listed_and_all_are_chosen(ana: User) -> None:
    ana.have("claude", "codex")
    done = ana.type("\n", "init")
    assert done.code == 0
    assert "  [x] 1  Claude Code     ~/.claude.json" in done.out
    assert "  [x] 2  Codex           ~/.codex/config.toml" in done.out
    assert "Cursor" not in done.out
    assert ana.note["editors"] == ["claude", "codex"]


def test_numbers_choose_some_and_what_is_no_answer_is_asked_again(ana: User) -> None:
    ana.have("claude", "cursor", "codex")
    done = ana.type("maybe\n1, 3\n", "init")
    assert "'maybe' is not valid: Enter, s, or numbers from 1 to 3" in done.out
    assert ana.note["editors"] == ["claude", "codex"]
    assert not (ana.home / FILES["cursor"]).exists()


def test_the_end_of_input_is_no_answer(ana: User) -> None:
    ana.have("cursor")
    done = ana.type("\x04", "init")
    assert done.code == 0
    assert ana.files() == {}


@pytest.mark.requirement(
    "wiki.wiring.marker_configured",
    "wiki.wiring.marker_stops_the_question",
    "wiki.wiring.once_per_user",
)
def test_the_first_start_asks_once_and_remembers(ana: User, start: Callable[[str], Ended]) -> None:
    ana.have("cursor")
    first = start("\n")
    assert "Pecia can be added to the editors found here:" in first.out
    assert ana.json("cursor") == {"mcpServers": {"pecia": OURS}}
    note = ana.note
    assert note.pop("configuredAt").endswith("Z")
    assert note == {"configured": True, "editors": ["cursor"], "cliPath": SCRIPT}
    assert "Pecia can be added" not in start("").out


@pytest.mark.requirement(
    "wiki.wiring.skip_writes_nothing",
    "wiki.wiring.marker_skipped",
    "wiki.wiring.deleting_marker_asks_again",
)
def test_skip_is_remembered_and_without_the_note_it_is_asked_again(
    ana: User, start: Callable[[str], Ended]
) -> None:
    ana.have("cursor")
    start("s\n")
    assert [*ana.files()] == [".pecia/mcp-status.json"]
    note = ana.note
    assert note.pop("skippedAt").endswith("Z")
    assert note == {"configured": False}
    assert "Pecia can be added" not in start("").out
    ana.marker.unlink()
    ana.have("codex")
    assert "  [x] 2  Codex" in start("s\n").out


@pytest.mark.requirement("wiki.wiring.both_paths_coexist")
def test_after_init_and_the_question_an_editor_has_one_entry_of_ours(
    ana: User, start: Callable[[str], Ended]
) -> None:
    old = {"command": "/old/bin/pecia", "args": ["mcp"]}
    ana.write("cursor", json.dumps({"mcpServers": {"pecia": old, "x": {}}}))
    ana.run("init")
    ana.marker.unlink()
    assert "Cursor          unchanged" in start("\n").out
    assert ana.json("cursor") == {"mcpServers": {"pecia": OURS, "x": {}}}


def test_where_nobody_can_answer_a_start_asks_nothing_and_writes_nothing(ana: User) -> None:
    ana.have("cursor")
    (ana.home / "notes").mkdir()
    with create_server(("127.0.0.1", 0)) as taken:
        done = ana.run("start", "notes", "--port", taken.getsockname()[1])
        asked = ana.type("", "start", "notes", "--no-ask", "--port", taken.getsockname()[1])
    assert "Pecia can be added" not in done.out + done.err + asked.out
    assert ana.files() == {}


def test_a_start_in_the_background_asks_nothing(ana: User) -> None:
    """Who reads from a terminal there is stopped."""
    ana.have("cursor")
    (ana.home / "notes").mkdir()
    ours, theirs = pty.openpty()
    with create_server(("127.0.0.1", 0)) as taken:
        words = [SCRIPT, "start", "notes", "--port", str(taken.getsockname()[1])]
        shell = subprocess.Popen(
            ["/bin/sh", "-mc", f"{shlex.join(words)} & wait $!"],
            stdin=theirs,
            stdout=theirs,
            stderr=theirs,
            env=ana.env,
            cwd=ana.home,
            start_new_session=True,
            preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0),
        )
        os.close(theirs)
        said = b"".join(_read(ours)).decode()
        os.close(ours)
        shell.wait(LIMIT_S)
    assert "is taken by" in said
    assert "Pecia can be added" not in said


def _read(terminal: int) -> Iterator[bytes]:
    """What is written to a terminal, until whoever wrote has gone."""
    while True:
        try:
            said = os.read(terminal, 65536)
        except OSError:
            return
        if not said:
            return
        yield said
