"""An error says what is wrong, with which value, what is allowed, and what to do next."""

import os
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from pecia.kernel.store.cluster import DatabaseLogins
from tests.interfaces.shell import Done, Shell, opened_shell
from tests.interfaces.test_cli_commands import external

pytestmark = pytest.mark.slow

TEXT = "A bike that is stolen is reported to the police within two days, and to the insurer. "


@pytest.fixture
def shell(database: DatabaseLogins) -> Iterator[Shell]:
    """A shell of the operator, on a database with the tenant acme."""
    with opened_shell(external(database)) as made:
        yield made


def error_of(done: Done) -> str:
    """What a person reads of an error."""
    assert done.code != 0, done.out
    return done.err


def says(done: Done, *words: str) -> None:
    said = error_of(done)
    assert not [it for it in words if it not in said], said


def test_errors_about_sources_name_the_source_and_the_next_command(shell: Shell) -> None:
    env = {"PECIA_TOKEN": shell.ok("tenant", "add", "acme", "--json").document["token"]}
    shell.ok("source", "add", "sent", "--protocol", "upload", env=env)

    def failed(*words: str, stdin: str = "") -> Done:
        return shell.run("source", *words, stdin=stdin, env=env)

    contradicted = failed("add", "docs", "--protocol", "git", "--folder", "/srv/docs")
    says(contradicted, "protocol 'git' contradicts the origin 'folder'", "one of them")
    says(failed("add", "docs"), "source 'docs' needs an origin", "source add docs --folder FOLDER")
    says(failed("credential", "nowhere", stdin="key"), "no source 'nowhere'", "pecia source list")
    says(failed("status", "sent"), "'sent' was never crawled", "pecia source crawl sent")
    says(
        failed("credential", "sent", "--remove"),
        "'sent' has no credential",
        "pecia source credential sent <",
    )
    says(
        failed("grant", "sent", "everyone", "null", "--folder", "hr"),
        "'everyone' has no grant in folder 'hr' of source 'sent' to remove",
    )


def test_a_value_of_the_wrong_form_is_told_with_what_is_expected(shell: Shell) -> None:
    env = {"PECIA_TOKEN": shell.ok("tenant", "add", "acme", "--json").document["token"]}
    done = shell.run("search", "bike", "--content-type", "html", env=env)
    says(done, "content_type", "'html'", "Expected: `text/html` or `text/*`.")
    assert "^" not in done.err


def test_a_grant_on_a_folder_without_files_is_stored_and_says_so(shell: Shell) -> None:
    env = {"PECIA_TOKEN": shell.ok("tenant", "add", "acme", "--json").document["token"]}
    shell.ok("source", "add", "sent", "--protocol", "upload", env=env)
    asked = ("source", "grant", "sent", "everyone", "reader", "--folder", "hr/offers", "--json")
    made = shell.ok(*asked, env=env).document
    assert [it["folder"] for it in made["grants"]] == ["hr/offers/"]
    assert made["note"].endswith("the source has no file you may see below hr/offers/")


@pytest.mark.parametrize(
    ("words", "reason", "help_"),
    [
        (("tenant", "suspend", "acme"), "this tenant is suspended", "pecia tenant resume"),
        (("user", "set", "bo", "--status", "disabled"), "this user is disabled", "administrator"),
    ],
)
def test_who_is_shut_out_is_told_whom_to_ask_and_not_to_set_a_token(
    shell: Shell, words: tuple[str, ...], reason: str, help_: str
) -> None:
    env = {"PECIA_TOKEN": shell.ok("tenant", "add", "acme", "--json").document["token"]}
    shell.ok("user", "add", "bo", env=env)
    bo = shell.ok("token", "make", "laptop", "--user", "bo", "--json", env=env).document["token"]
    shell.ok(*words, env=env)
    refused = shell.run("call", "whoami", env={"PECIA_TOKEN": bo})
    says(refused, reason, help_)
    assert "PECIA_TOKEN" not in refused.err


def test_a_tenant_that_is_being_deleted_is_not_called_suspended(
    shell: Shell, database: DatabaseLogins
) -> None:
    env = {"PECIA_TOKEN": shell.ok("tenant", "add", "acme", "--json").document["token"]}
    with psycopg.connect(database.system) as connection:
        connection.execute("UPDATE kernel.tenant SET status = 'deleting' WHERE name = 'acme'")
    says(shell.run("call", "whoami", env=env), "this tenant is being deleted", "No token helps")


def test_the_address_of_an_upstream_server_is_in_the_error_with_what_is_allowed(
    shell: Shell,
) -> None:
    env = {"PECIA_TOKEN": shell.ok("tenant", "add", "acme", "--json").document["token"]}

    def failed(*words: str) -> Done:
        return shell.run("hub", "add", "files", *words, env=env)

    says(failed("--url", "ftp://files.example.org"), "'ftp://files.example.org' is not an http")
    hidden = failed("--url", "ftp://ana:correct-horse-battery@files.example.org")
    assert "correct-horse" not in error_of(hidden)
    mixed = failed("--url", "https://files.example.org", "--type", "stdio")
    says(mixed, "is of type 'http' or 'sse', not 'stdio'")
    says(failed("--command", "files", "--type", "sse"), "is of type 'stdio', not 'sse'")


def test_an_operators_errors_name_the_value_and_the_list(shell: Shell) -> None:
    made = shell.ok("operator", "token", "make", "ci", "--json").document
    says(
        shell.run("call", "whoami", env={"PECIA_TOKEN": made["token"]}),
        "an operator's token calls no tools",
        "pecia token make",
    )
    shell.ok("operator", "token", "revoke", made["id"])
    again = shell.run("operator", "token", "revoke", made["id"])
    says(again, f"no operator token has the id {made['id']}", "pecia operator token list")
    shell.ok("tenant", "add", "acme")
    says(shell.run("tenant", "quota", "acme", "--set", "pages=7"), "no quota 'pages'", "chunks")


def test_an_address_that_cannot_be_listened_on_is_named_with_those_that_can(shell: Shell) -> None:
    (shell.root / "pecia.yml").write_text("mode: server\nhost: 192.0.2.1\n")
    says(
        shell.run("serve", "--config", "pecia.yml", "--port", "7999"),
        "cannot listen on 192.0.2.1:7999",
        "127.0.0.1",
        "0.0.0.0",
    )


def test_a_file_whose_name_is_no_utf8_is_compiled(shell: Shell) -> None:
    name = os.fsdecode(b"fahrr\xe4der.md")
    Path(shell.root, name).write_text(f"# Bikes\n\n{TEXT * 5}", "utf-8")
    made = shell.ok("ckf", "compile", name, "--json").document
    assert "fahrr\ufffdder.md" in str(made)
    shell.ok("ckf", "compile", name, "--sidecar")
    written = shell.root / os.fsdecode(b"fahrr\xe4der.md.ckf.md")
    assert "police" in written.read_text("utf-8")


def test_an_upload_over_the_limit_of_a_request_says_the_limit_and_the_setting(
    shell: Shell,
) -> None:
    folder = shell.folder("docs")
    (shell.root / "film.bin").write_bytes(b"\0" * 400_000)
    env = {"PECIA_BODY_LIMIT_BYTES": "200000"}
    shell.ok("start", folder, "--no-ask", "--detach", "--port", "0", env=env)
    shell.ok("source", "add", "sent", "--protocol", "upload")
    says(
        shell.run("source", "upload", "sent", "film.bin"),
        "film.bin: the body is longer than 200000 bytes",
        "PECIA_BODY_LIMIT_BYTES",
        "pecia source add",
    )
