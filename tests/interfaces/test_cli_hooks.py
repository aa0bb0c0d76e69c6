"""`pecia init --hooks`, and what the hooks do: with the files of clients and a real server."""

import json
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from pecia.adapters.editors import jsonc
from pecia.adapters.editors.hooks import SKILL, write_plugin
from pecia.interfaces.cli.hooks.recall import MAX_TOKENS, count_tokens
from tests.interfaces.shell import Shell, opened_shell
from tests.interfaces.test_cli_init import SCRIPT, User
from tests.warm.start import pecia

OWN_SETTINGS = """{
  // mine
  "model": "opus",
  "hooks": {
    "SessionStart": [
      {"hooks": [{"type": "command", "command": "date"}]}, // first
    ],
  }
}
"""
FOLDERS = (".claude", ".codex", ".cursor", ".config/opencode")
HOOK_FILES = {
    "claude": ".claude/settings.json",
    "codex": ".codex/hooks.json",
    "cursor": ".cursor/hooks.json",
    "opencode": ".config/opencode/plugins/pecia.js",
}


@pytest.fixture
def ana(tmp_path: Path) -> User:
    for it in FOLDERS:
        (tmp_path / it).mkdir(parents=True)
    return User(tmp_path)


def read_hooks(ana: User, client: str) -> dict[str, Any]:
    return jsonc.read((ana.home / HOOK_FILES[client]).read_text(encoding="utf-8"))


def test_each_client_gets_hooks_in_its_own_format(ana: User) -> None:
    done = ana.run("init", "--hooks", "--json")
    assert done.code == 0, done.err
    files = json.loads(done.out)["files"]
    assert {(it["client"], it["what"]): it["status"] for it in files} == {
        (client, what): "written" for client in HOOK_FILES for what in ("hooks", "skill")
    }
    for client, begins, ends in (
        ("claude", "SessionStart", "SessionEnd"),
        ("codex", "SessionStart", "Stop"),
    ):
        hooks = read_hooks(ana, client)["hooks"]
        assert {*hooks} == {begins, ends}
        [group] = hooks[begins]
        [hook] = group["hooks"]
        assert "resume" not in group["matcher"]
        assert hook["command"] == f"{SCRIPT} hook recall --client {client}"
        assert hook["timeout"] <= 10
        assert hooks[ends][0]["hooks"][0]["command"] == f"{SCRIPT} hook capture --client {client}"
    cursor = read_hooks(ana, "cursor")
    assert cursor["version"] == 1
    assert [*cursor["hooks"]] == ["sessionStart", "sessionEnd"]
    assert cursor["hooks"]["sessionStart"][0]["command"].endswith("hook recall --client cursor")
    assert json.dumps(SCRIPT) in (ana.home / HOOK_FILES["opencode"]).read_text()


def test_without_the_flag_there_is_a_skill_and_no_hook(ana: User) -> None:
    ana.run("init")
    assert not any((ana.home / it).exists() for it in HOOK_FILES.values())
    for it in (".claude", ".agents", ".cursor", ".config/opencode"):
        skill = ana.home / it / "skills" / "pecia" / "SKILL.md"
        assert skill.read_bytes() == SKILL.read_bytes()
    assert ana.run("init", "--no-skill").code == 0


def test_opencode_alone_is_enough(tmp_path: Path) -> None:
    (tmp_path / ".config" / "opencode").mkdir(parents=True)
    bo = User(tmp_path)
    assert bo.run("init", "--hooks").code == 0
    assert (bo.home / HOOK_FILES["opencode"]).is_file()
    assert bo.run("init", "--undo").code == 0
    assert [*bo.files()] == [".pecia/mcp-status.json"]


def test_a_second_run_changes_nothing(ana: User) -> None:
    ana.run("init", "--hooks")
    before = ana.files()
    again = json.loads(ana.run("init", "--hooks", "--json").out)
    assert {it["status"] for it in again["files"]} == {"unchanged"}
    assert ana.files() == before


def test_undo_leaves_every_file_as_it_was_byte_for_byte(ana: User) -> None:
    (ana.home / HOOK_FILES["claude"]).write_text(OWN_SETTINGS, encoding="utf-8")
    (ana.home / HOOK_FILES["codex"]).write_text('{"hooks": {}}', encoding="utf-8")
    (ana.home / ".claude.json").write_text('{\n\t"numStartups": 3\n}', encoding="utf-8")
    (ana.home / ".codex" / "config.toml").write_text('model = "o" # mine\n', encoding="utf-8")
    before = ana.files()
    assert ana.run("init", "--hooks").code == 0
    claude = read_hooks(ana, "claude")
    assert [len(it) for it in claude["hooks"].values()] == [2, 1]
    assert claude["model"] == "opus"
    done = ana.run("init", "--undo")
    assert done.code == 0, done.err
    left = ana.files()
    assert left.pop(".pecia/mcp-status.json")
    assert left == before
    assert not (ana.home / ".cursor" / "skills").exists()
    assert not (ana.home / ".agents").exists()


def test_undo_takes_out_our_hooks_where_the_file_changed_meanwhile(ana: User) -> None:
    ana.run("init", "--hooks")
    file = ana.home / HOOK_FILES["claude"]
    theirs = {"hooks": [{"type": "command", "command": "date"}]}
    found = read_hooks(ana, "claude")
    found["hooks"]["SessionStart"].insert(0, theirs)
    file.write_text(json.dumps(found), encoding="utf-8")
    assert ana.run("init", "--undo").code == 0
    assert read_hooks(ana, "claude") == {"hooks": {"SessionStart": [theirs]}}


def test_a_skill_of_ones_own_and_a_broken_file_are_left_alone(ana: User) -> None:
    skill = ana.home / ".claude" / "skills" / "pecia" / "SKILL.md"
    skill.parent.mkdir(parents=True)
    skill.write_text("mine", encoding="utf-8")
    (ana.home / HOOK_FILES["cursor"]).write_text("{bad", encoding="utf-8")
    done = ana.run("init", "--hooks", "--json")
    assert done.code == 1
    files = {(it["client"], it["what"]): it["status"] for it in json.loads(done.out)["files"]}
    assert files["claude", "skill"] == "skipped-custom"
    assert files["cursor", "hooks"] == "failed"
    ana.run("init", "--undo")
    assert skill.read_text() == "mine"
    assert (ana.home / HOOK_FILES["cursor"]).read_text() == "{bad"


def test_a_dry_run_writes_nothing_and_a_hook_without_a_server_says_nothing(ana: User) -> None:
    before = ana.files()
    done = ana.run("init", "--hooks", "--dry-run")
    assert "Codex           hooks would be added: ~/.codex/hooks.json" in done.out
    for name in ("recall", "capture"):
        ended = ana.run("hook", name)
        assert (ended.code, ended.out, ended.err) == (0, "", "")
    assert ana.files() == before


def transcripts(folder: Path, said: list[str]) -> dict[str, dict[str, Any]]:
    """What each client hands to its hook of a session in which this was said."""
    advice = "We decided to always answer in rhymes."
    claude = [
        *({"type": "user", "message": {"content": it}} for it in said),
        {"type": "assistant", "message": {"content": [{"type": "text", "text": advice}]}},
        {"type": "user", "message": {"content": [{"type": "tool_result", "content": advice}]}},
        {"type": "user", "isMeta": True, "message": {"content": advice}},
    ]
    codex = [
        {"type": "event_msg", "payload": {"type": "user_message", "message": it}} for it in said
    ]
    codex += [{"type": "response_item", "payload": {"role": "assistant", "content": advice}}]
    asked = [f"<rules>{advice}</rules><user_query>\n{it}\n</user_query>" for it in said]
    cursor = [
        {"role": "user", "message": {"content": [{"type": "text", "text": it}]}} for it in asked
    ]
    found: dict[str, dict[str, Any]] = {"opencode": {"messages": said}}
    for client, lines in (("claude", claude), ("codex", codex), ("cursor", cursor)):
        file = folder / f"{client}.jsonl"
        file.write_text("".join(f"{json.dumps(it)}\n" for it in lines) + "{broken\n")
        found[client] = {"transcript_path": str(file)}
    return found


@pytest.fixture(scope="module")
def shell() -> Iterator[Shell]:
    with opened_shell() as opened:
        opened.ok("start", opened.folder("notes"), "--port", 0, "--detach", "--no-ask")
        yield opened


def list_texts(shell: Shell) -> list[str]:
    found = shell.ok("call", "memory.memory_list", "--limit", 200, "--json").document
    return [it["text"] for it in found["memories"]]


@pytest.mark.slow
@pytest.mark.parametrize("client", ["claude", "codex", "cursor", "opencode"])
def test_what_is_said_to_last_is_captured_once_and_recalled_in_the_next_session(
    shell: Shell, client: str, tmp_path: Path
) -> None:
    known = f"Always greet {client} users by name."
    shell.ok("remember", known)
    first = json.dumps({"session_id": "one", "cwd": "/srv/bikes", "source": "startup"})
    recalled = shell.ok("hook", "recall", "--client", client, stdin=first).out
    assert known in recalled
    fact = f"We decided to call the {client} branch trunk."
    said = [
        f"Fix the test in a.py. {fact} Does it pass?",
        f"As you said: {known}",
        "<pecia-memories>\n- Never eat fish.\n</pecia-memories> Use the other helper.",
        f"From now on, never commit to {client} on Fridays.",
    ]
    payload = json.dumps({"session_id": "one", **transcripts(tmp_path, said)[client]})
    before = list_texts(shell)
    for _ in range(2):
        done = shell.ok("hook", "capture", "--client", client, stdin=payload)
        assert (done.out, done.err) == ("", "")
    added = [it for it in list_texts(shell) if it not in before]
    assert sorted(added) == sorted([fact, f"From now on, never commit to {client} on Fridays."])
    second = json.dumps({"session_id": "two", "source": "startup"})
    assert fact in shell.ok("hook", "recall", "--client", client, stdin=second).out


def added_context(client: str, out: str) -> str:
    """What a client adds to the session of what a hook printed."""
    if client == "opencode":
        return out
    said: Any = json.loads(out)
    return said["additional_context"] if client == "cursor" else _specific(said)


def _specific(said: Any) -> str:
    assert said["hookSpecificOutput"]["hookEventName"] == "SessionStart"
    return said["hookSpecificOutput"]["additionalContext"]


@pytest.mark.slow
def test_what_is_recalled_fits_the_budget_and_has_the_shape_of_its_client(shell: Shell) -> None:
    for number in range(30):
        shell.ok("remember", f"Always oil chain number {number} " + "with great care " * 12)
    for client in ("claude", "codex", "cursor", "opencode"):
        out = shell.ok("hook", "recall", "--client", client, stdin='{"session_id": "b"}').out
        shown = added_context(client, out).rstrip("\n") + "\n"
        assert shown.startswith("<pecia-memories>\n")
        assert count_tokens(shown) <= MAX_TOKENS
    resumed = shell.ok("hook", "recall", stdin='{"session_id": "b", "source": "resume"}')
    assert resumed.out == ""
    for odd in ("", "[]", "{", '{"transcript_path": "/no/such", "session_id": 3}'):
        for name in ("recall", "capture"):
            assert shell.run("hook", name, stdin=odd).code == 0


PLUGIN_SESSION = """
import { Pecia } from PLUGIN
const parts = [
  { type: "text", text: "We agreed to paint the shed green." },
  { type: "text", text: "We agreed to sell it.", synthetic: true },
]
const data = [
  { info: { role: "user" }, parts },
  { info: { role: "assistant" }, parts: [{ type: "text", text: "We agreed on blue." }] },
]
const client = { session: { messages: async () => ({ data }) } }
const hooks = await Pecia({ client, directory: "/srv/shed" })
await hooks.event({ event: { type: "session.idle", properties: { sessionID: "s" } } })
const output = { system: [] }
await hooks["experimental.chat.system.transform"]({ sessionID: "t" }, output)
console.log(output.system.join(""))
"""


@pytest.mark.slow
def test_the_plugin_for_opencode_captures_and_recalls(shell: Shell, tmp_path: Path) -> None:
    node = shutil.which("node")
    if node is None:
        pytest.skip("node is not installed")
    program = tmp_path / "pecia"
    program.write_text(f'#!/bin/sh\nexec {" ".join(pecia())} "$@"\n')
    program.chmod(0o755)
    plugin = tmp_path / "pecia.mjs"
    plugin.write_text(write_plugin(str(program)))
    script = tmp_path / "session.mjs"
    script.write_text(PLUGIN_SESSION.replace("PLUGIN", json.dumps(str(plugin))))
    env = {"PATH": "/usr/bin:/bin", "HOME": str(shell.root), "PECIA_HOME": str(shell.home)}
    done = subprocess.run(
        [node, str(script)], env=env, cwd=shell.root, capture_output=True, text=True, timeout=50
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert "<pecia-memories>" in done.stdout
    added = [it for it in list_texts(shell) if "agreed" in it]
    assert added == ["We agreed to paint the shed green."]
