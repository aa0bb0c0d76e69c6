"""Mistakes at the command line: each is told in one sentence, with the value and a command
that leads on, and nothing is created or changed."""

import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from socket import create_server
from typing import Any

import pytest

from pecia.interfaces.cli.server.client import API, ServerClient
from pecia.interfaces.cli.server.credentials import read_owner_token
from tests.interfaces.shell import Shell, opened_shell

pytestmark = pytest.mark.slow

LISTS = {
    "admin": ("list_users", "list_groups", "list_spaces", "list_tokens", "list_secrets"),
    "lake": ("list_sources",),
    "hub": ("list_servers",),
}


@dataclass(frozen=True, slots=True)
class Mistake:
    """Words, the exit code, and parts of what is said: the value, and what to do."""

    words: str
    code: int
    says: tuple[str, ...]
    env: tuple[tuple[str, str], ...] = ()


def wrong(words: str, *says: str) -> Mistake:
    return Mistake(words, 2, says)


def refused(words: str, *says: str, **env: str) -> Mistake:
    return Mistake(words, 1, says, tuple(env.items()))


MISTAKES = [
    # Misspelled.
    wrong("serch bikes", "'serch'", "did you mean search?", "pecia --help"),
    wrong("source ad papers", "'ad'", "did you mean add?", "pecia source --help"),
    wrong("user remove ana", "'remove'", "add, list, set", "pecia user --help"),
    wrong("source", "pecia source needs a command: add,", "pecia source --help"),
    wrong("--verison", "'--verison'", "did you mean --version?"),
    wrong("source list --limt 3", "--limt", "did you mean --limit?", "pecia source list --help"),
    wrong("search bikes --limt 3", "--limt", "did you mean --limit?", "pecia search --help"),
    wrong("start --prot 7000", "--prot", "pecia start --help"),
    wrong("status --jsn", "--jsn", "pecia status --help"),
    refused("call lake.list_source", "lake.list_source", "did you mean", "pecia call --list"),
    wrong("completion tcsh", "'tcsh'", "bash, zsh, fish"),
    refused("config prot", "'prot'", "did you mean port?", "pecia config"),
    # Left out.
    wrong("search", "WORDS is missing", "pecia search --help"),
    wrong("read", "PLACE is missing", "pecia read --help"),
    wrong("edit", "DOCUMENT is missing", "pecia edit --help"),
    wrong("token make", "LABEL is missing", "pecia token make --help"),
    wrong("call lake.list_files", "--source-id is missing", "pecia call lake.list_files --help"),
    wrong("--config", "--config needs a file"),
    wrong("serve", "--config", "pecia serve --help"),
    refused(
        "source add papers",
        "'papers' needs an origin",
        "folder",
        "pecia source add papers --folder FOLDER",
    ),
    refused("hub add tools", "command", "url", "pecia hub add --help"),
    # Not there.
    refused("source add typo --folder /nope/papers", "/nope/papers", "no such folder"),
    refused("space add /nope/wiki", "/nope/wiki", "no such folder"),
    refused("start /nope/wiki", "/nope/wiki", "pecia start FOLDER"),
    refused("--config /nope/pecia.yml config", "/nope/pecia.yml"),
    refused("serve --config /nope/pecia.yml", "/nope/pecia.yml"),
    refused("read nope.md", "'nope.md'", "pecia search"),
    refused("source crawl nope", "'nope'", "pecia source list"),
    refused("source set nope --enabled", "'nope'", "pecia source list"),
    refused("user set nobody --role admin", "'nobody'", "pecia user list"),
    refused("group join nope nobody", "'nope'", "pecia group list"),
    refused("space rename nope other", "'nope'", "pecia space list"),
    refused("confirm nope", "'nope'", "pecia confirm"),
    refused("edit page --space nope", "'nope'", "notes", EDITOR="true"),
    refused("edit page", "cannot be started", EDITOR="/nope/editor"),
    refused("source upload wiki:notes /nope/a.pdf", "/nope/a.pdf"),
    refused("restore /nope/backup", "/nope/backup"),
    refused("read pecia://nope", "'pecia://nope'", "pecia://file/SOURCE/PATH", "pecia read --help"),
    refused("memory import /nope/chats.json", "/nope/chats.json", "pecia memory import --help"),
    refused("group import /nope/staff.ldif", "/nope/staff.ldif", "pecia group import --help"),
    refused("ckf compile /nope/a.md", "/nope/a.md", "pecia ckf compile --help"),
    refused("eval retrieval /nope/set", "/nope/set", "pecia eval retrieval --help"),
    refused("worker --config /nope/pecia.yml", "/nope/pecia.yml", "pecia worker --help"),
    refused("worker --config ours.yml", "database in ours.yml: database_url", PECIA_HOME="/nope"),
    refused("--config ours.yml worker", "database in ours.yml: database_url", PECIA_HOME="/nope"),
    refused("search bikes", "is a file", "PECIA_HOME=/PATH", PECIA_HOME="/etc/hostname"),
    # Not allowed.
    refused("start notes/wheels.md", "notes/wheels.md is a file", "pecia start /"),
    refused("start notes --port 99999", "'99999'", "65535", "pecia start --help"),
    refused("start notes --host example.org", "loopback", "pecia start --help"),
    refused("--config bad.yml config", "bad.yml:2: not valid YAML", "pecia config --help"),
    refused("--config unknown.yml config", "`prot`", "did you mean `port`?"),
    refused("serve --config unknown.yml", "`prot`", "did you mean `port`?"),
    wrong("call lake.search_content --query x --limit many", "'many'", "integer"),
    refused("call lake.search_content --query x --limit 9999", "9999", "max: 100"),
    wrong("call lake.search_content --args {bad", "not JSON", "--help"),
    refused("source add two --folder notes --web https://example.org", "one origin", "--help"),
    refused("source add site --web nowhere", "nowhere", "https://HOST/PATH"),
    refused("space add git@example.org:a/b.git", "git@example.org", "pecia source add ID --git"),
    refused("source upload wiki:notes notes/wheels.md", "only 'upload' takes files"),
    wrong("source credential wiki:notes", "no value came on stdin", "--help"),
    refused("memory forget nope", "not a terminal", "pecia memory forget nope --yes"),
    refused("memory forget 12 34", "Delete '12', '34' for good", "memory forget 12 34 --yes"),
    wrong("audit --tool ask --tool search", "tool is given twice", "--tools ask --tools search"),
    refused("token revoke nope --yes", "'nope'", "a UUID", "pecia token revoke --help"),
    refused("audit --since nonsense", "'nonsense'", "RFC 3339", "pecia audit --help"),
    wrong("token make ci --scopes all", "'all'", "read|write|admin", "pecia token make --help"),
    wrong("source grant wiki:notes user:bo king", "'king'", "reader|writer|owner"),
    refused("user list", "AUTH_REQUIRED", "PECIA_TOKEN", PECIA_TOKEN="peciapat_nonsense"),
    refused("tenant delete local --yes", "'local' is the tenant of this", "pecia stop"),
    refused("source remove wiki:notes", "not a terminal", "pecia source remove wiki:notes --yes"),
    refused("space remove notes", "not a terminal", "pecia space remove notes --yes"),
    refused("token revoke 1234", "not a terminal", "pecia token revoke 1234 --yes"),
    refused("hub remove tools", "not a terminal", "pecia hub remove tools --yes"),
    refused("secret remove key --purpose source", "not a terminal", "--yes"),
    refused("config", "PECIA_PORT", "'many'", PECIA_PORT="many"),
    # Taken for something else.
    refused("read wiki:notes", "'wiki:notes' is a source", "--source-id wiki:notes"),
    refused("read wiki:notes/", "'wiki:notes' is a source", "--source-id wiki:notes"),
    refused("read notes/nope.md", "notes/nope.md", "pecia search"),
    refused("source grant wiki:notes bo reader", "'bo'", "user:bo", "group:bo"),
    refused("search bikes --modified-after yesterday", "'yesterday'", "2026-01-31"),
    refused("recall bikes --limit 1000", '"limit"', "1000", "max: 50"),
    refused("source add typo --folder notes/../nope", "/nope", "no such folder"),
]


MORE_MISTAKES = [
    # Of a script whose variable is not set.
    Mistake("start ''", 1, ("FOLDER is empty", "pecia start .")),
    Mistake("edit ''", 1, ("DOCUMENT is empty", "pecia edit --help")),
    wrong("call ''", "TOOL is empty", "pecia call --list"),
    # Of commands with options of their own.
    wrong("source crawl", "SOURCE_ID is missing", "pecia source crawl --help"),
    wrong("secret set", "NAME is missing", "pecia secret set --help"),
    wrong("restore", "FILE is missing", "pecia restore --help"),
    wrong("smoke", "--api-url is missing", "pecia smoke --help"),
    wrong("start notes --port abc", "--port", "'abc'", "pecia start --help"),
    wrong("start notes --port=abc", "--port", "'abc'", "pecia start --help"),
    wrong("start notes other", "unexpected word 'other'", "pecia start --help"),
    wrong("version --jsn", "'--jsn'", "pecia --help"),
    refused("tenant add local", "'local'", "pecia tenant list"),
    refused("backup /nope/disk/today.zip", "no folder /nope/disk", "mkdir -p /nope/disk"),
    refused("backup today.zip --keys /nope/disk/keys.json", "no folder /nope/disk"),
    refused("export local /nope/disk/rows.zip", "no folder /nope/disk"),
    wrong("search bikes --json=yes", "--json takes no value"),
    wrong("source list --plain=no", "--plain takes no value"),
    refused("--config paths.yml config", "expected a path, got '[1, 2]'"),
    # A name that looks like an option: the way on takes it for a name too.
    refused("token revoke -- -x", "not a terminal", "pecia token revoke --yes -- -x"),
    refused("source add .. --folder notes", "'..'", "a name"),
    refused("source add . --folder notes", "'.'", "a name"),
]


@pytest.fixture(scope="module")
def shell() -> Iterator[Shell]:
    with opened_shell() as opened:
        folder = opened.folder("notes")
        (folder / "wheels.md").write_text("# Wheels\n")
        (opened.root / "bad.yml").write_text("port: [1\n")
        (opened.root / "unknown.yml").write_text("prot: 7000\n")
        (opened.root / "ours.yml").write_text("port: 7000\n")
        (opened.root / "paths.yml").write_text("log_file: [1, 2]\n")
        # We look at everything before and after each command: more often than people may.
        often = {"PECIA_PRINCIPAL_RATE_PER_S": "10000"}
        opened.ok("start", folder, "--port", 0, "--detach", "--no-ask", env=often)
        yield opened


def state(shell: Shell) -> dict[str, Any]:
    """Everything that a command could have made, and every file beside the home."""
    client = ServerClient(shell.lock.url, read_owner_token(shell.home))
    found: dict[str, Any] = {
        f"{feature}.{tool}": client.call(f"{API}/{feature}/{tool}", {})
        for feature, tools in LISTS.items()
        for tool in tools
    }
    for it in found["admin.list_tokens"]["tokens"]:
        it.pop("last_used_at")
    found["lake.list_sources"].pop("degraded")
    for it in found["lake.list_sources"]["sources"]:
        # The server indexes meanwhile, and writes below these.
        for name in ("last_indexed_at", "condition", "unread"):
            it.pop(name)
    servers = {"home", ".cache", ".pecia"}
    files = (it.relative_to(shell.root) for it in shell.root.rglob("*"))
    return {**found, "files": sorted(str(it) for it in files if not servers & {*it.parts})}


def test_there_are_more_than_forty() -> None:
    assert len({it.words for it in MISTAKES}) >= 60


@pytest.mark.parametrize("mistake", [*MISTAKES, *MORE_MISTAKES], ids=lambda it: it.words)
def test_a_mistake_is_told_with_a_way_on_and_changes_nothing(
    shell: Shell, mistake: Mistake
) -> None:
    before = state(shell)
    done = shell.run(*shlex.split(mistake.words), env=dict(mistake.env))
    assert (done.code, done.out) == (mistake.code, ""), done.err
    assert done.err.startswith("["), done.err
    assert "Traceback" not in done.err
    for part in mistake.says:
        assert part in done.err
    assert "hint: " in done.err or "expected: " in done.err, done.err
    assert state(shell) == before
    assert not Path("/nope").exists()


def test_without_a_server_a_command_says_how_one_is_started_and_makes_none() -> None:
    with opened_shell() as empty:
        for words in ("search bikes", "read a.md", "recall bikes", "remember x", "status", "audit"):
            done = empty.run(*words.split())
            assert done.code == 1, words
            assert str(empty.home) in done.out + done.err, words
            assert "pecia start" in done.err, words
            assert not empty.home.exists(), words


def test_another_port_than_the_one_set_is_told_in_the_background_too() -> None:
    with opened_shell() as other, create_server(("127.0.0.1", 0)) as holder:
        port = holder.getsockname()[1]
        env = {"PECIA_PORT": str(port)}
        done = other.ok("start", other.folder("a"), "--detach", "--no-ask", env=env)
        assert f"port {port} is taken by" in done.err
        assert f"using {other.lock.port}" in done.err


def test_a_port_that_is_taken_is_named_with_its_holder(tmp_path: Path) -> None:
    with opened_shell() as other, create_server(("127.0.0.1", 0)) as holder:
        port = holder.getsockname()[1]
        done = other.run("start", other.folder("a"), "--port", port, "--no-ask")
        assert done.code == 1
        assert f"port {port} of 127.0.0.1 is taken by" in done.err
        assert "another --port" in done.err


def test_yes_removes_and_a_token_says_what_it_can_do(shell: Shell) -> None:
    made = shell.ok("token", "make", "laptop", "--scopes", "write", "--json").document
    assert made["can"] == ["search", "read", "write documents and memories"]
    assert made["cannot"] == ["administer sources, users and rights"]
    entry = made["client"]["mcpServers"]["pecia"]
    assert entry["headers"]["Authorization"] == f"Bearer {made['token']}"
    assert entry["url"] == f"{shell.lock.url}/mcp"
    env = {"PECIA_TOKEN": made["token"]}
    assert shell.ok("remember", "Tokens say what they can do.", env=env).code == 0
    assert "[FORBIDDEN]" in shell.run("user", "add", "bo", env=env).err
    plain = shell.ok("token", "make", "reader")
    assert "It can search, read. It cannot write documents" in plain.err
    shell.ok("token", "revoke", made["id"], "--yes")
    assert shell.run("recall", "tokens", env=env).code == 1


def test_an_answer_that_says_that_it_did_not_succeed_is_an_exit_code(shell: Shell) -> None:
    done = shell.run("memory", "forget", "nope", "--yes", "--json")
    assert (done.code, done.document["notFound"]) == (1, ["nope"])
    assert "pecia memory list" in done.err
    done = shell.run("call", "memory.memory_delete", "--ids", "nope")
    assert (done.code, "nope" in done.out) == (1, True)
