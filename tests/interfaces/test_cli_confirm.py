"""A person's yes at the command line: `pecia confirm`, `--yes`, and the link of `pecia open`."""

from collections.abc import Generator
from pathlib import Path

import httpx
import pytest

from tests.interfaces.shell import Shell, opened_shell


@pytest.fixture(scope="module")
def shell() -> Generator[Shell]:
    with opened_shell() as found:
        found.ok("start", found.folder("notes"), "--port", 0, "--detach", "--no-ask")
        yield found


def ask(shell: Shell, tool: str, **arguments: object) -> httpx.Response:
    """A call that an agent makes: by a process of the owner, without a token."""
    return httpx.post(
        f"{shell.lock.url}/api/v1/{tool}", json=arguments, trust_env=False, timeout=60
    )


def test_what_an_agent_asked_for_is_listed_confirmed_and_then_done(
    shell: Shell, tmp_path: Path
) -> None:
    said = ask(shell, "admin/add_source", source_id="agents", folder=str(tmp_path))
    assert said.status_code == 428
    waits = said.json()["error"]["confirmation"]
    listed = shell.run("confirm", "--json").document["confirmations"]
    assert [(it["id"], it["tool"]) for it in listed] == [(waits, "admin.add_source")]
    unasked = shell.run("confirm", waits)
    assert unasked.code == 1
    assert f"pecia confirm {waits} --yes" in unasked.err
    assert shell.run("confirm", waits, "--yes").code == 0
    done = ask(shell, "admin/add_source", source_id="agents", folder=str(tmp_path))
    assert done.status_code == 200
    assert shell.run("confirm", waits, "--yes").code == 1
    assert "No pending confirmations" in shell.run("confirm").out


def test_a_folder_in_a_command_is_the_yes_and_a_program_is_shown_first(
    shell: Shell, tmp_path: Path
) -> None:
    added = shell.run("source", "add", "typed", "--folder", tmp_path)
    assert added.code == 0, added.err
    mark = tmp_path / "ran"
    words = ("hub", "add", "made", "--command", f"touch {mark}")
    refused = shell.run(*words)
    assert refused.code == 1
    assert "CONFIRMATION_REQUIRED" in refused.err
    assert f"touch {mark}" in refused.err
    assert not mark.exists()
    assert shell.run(*words, "--yes").code == 0
    assert mark.exists()


def test_the_link_of_open_signs_in_once(shell: Shell) -> None:
    url = shell.run("open", "--no-browser").out.strip()
    base, _, code = url.partition("/console/#/sign-in?code=")
    assert base == shell.lock.url
    made = ask(shell, "session", code=code)
    session = {"authorization": f"Bearer {made.json()['token']}"}
    me = httpx.get(f"{base}/api/v1/admin/whoami", headers=session, trust_env=False)
    assert me.json()["credential"] == "local"
    assert ask(shell, "session", code=code).status_code == 404
