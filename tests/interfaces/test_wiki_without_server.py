"""The wiki with no server running, and a server that stops when nobody uses it."""

from collections.abc import Iterator

import pytest

from pecia.interfaces.cli.server.discover import find_running_server
from tests.contract.requirement import requirement
from tests.interfaces.shell import Shell, opened_shell

pytestmark = pytest.mark.slow

PAGE = "---\ntitle: One\n---\nneedle, see [[two]] and [[none]]\n"


@pytest.fixture(scope="module")
def shell() -> Iterator[Shell]:
    """A home with a space, whose server was stopped."""
    with opened_shell() as opened:
        folder = opened.folder("notes")
        (folder / "one.md").write_text(PAGE)
        (folder / "two.md").write_text("# Two\n\nOne is mentioned\n")
        opened.ok("start", folder, "--port", 0, "--detach", "--no-ask")
        opened.ok("stop")
        yield opened


@requirement("wiki.mode.both_without_server")
@pytest.mark.parametrize(
    ("tool", "words", "said"),
    [
        ("read_document", ("--path", "one.md"), "see [[two]]"),
        ("search", ("--query", "needle"), "one.md"),
        ("get_backlinks", ("--docName", "two"), "one"),
    ],
)
def test_what_reads_answers_from_the_disk(
    shell: Shell, tool: str, words: tuple[str, ...], said: str
) -> None:
    done = shell.ok("call", f"wiki.{tool}", *words, "--json")
    assert said in done.out
    assert "answered from the disk" in done.err
    assert find_running_server(shell.home) is None


@requirement("wiki.mode.connected_needs_server")
def test_what_writes_names_the_server(shell: Shell) -> None:
    before = (shell.root / "notes/one.md").read_bytes()
    for tool, words in (
        ("write_document", ("--docName", "one", "--markdown", "x", "--position", "replace")),
        ("get_history", ("--docName", "one")),
    ):
        refused = shell.run("call", f"wiki.{tool}", *words)
        assert (refused.code, "the server is not running" in refused.err) == (1, True), tool
        assert "pecia start" in refused.err
    assert (shell.root / "notes/one.md").read_bytes() == before
    assert find_running_server(shell.home) is None


@requirement("wiki.mode.always_without_server")
def test_configuration_is_read_and_written_in_its_files(shell: Shell) -> None:
    rule = '[{"match": "a/**", "frontmatter": {"tags": ["x"]}}]'
    shell.ok("call", "wiki.set_folder_rule", "--args", f'{{"rules": {rule}}}')
    patch = '{"patch": {"mcp": {"tools": {"search": {"maxResults": 7}}}}}'
    shell.ok("call", "wiki.set_config", "--args", patch)
    assert "a/**" in (shell.root / "notes/.pecia/config.yml").read_text()
    # Without a scope a setting is the user's own.
    assert "maxResults: 7" in (shell.root / ".pecia/config.yml").read_text()
    read = ("--path", "mcp", "--path", "tools", "--path", "search", "--path", "maxResults")
    assert shell.ok("call", "wiki.get_config", *read, "--json").document["value"] == 7
    assert find_running_server(shell.home) is None


def test_a_server_with_an_idle_limit_stops_by_itself_and_leaves_no_lock(shell: Shell) -> None:
    words = ("start", shell.root / "notes", "--port", 0, "--no-ask", "--idle-stop", 1)
    with shell.foreground(*words) as server:
        assert server.wait(timeout=50) == 0
    assert find_running_server(shell.home) is None
    assert not (shell.root / "notes/.pecia/server.lock").exists()
