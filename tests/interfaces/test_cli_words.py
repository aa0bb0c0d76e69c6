"""Words of a command line that a person writes in more than one way, and addresses of sources."""

import json
from collections.abc import Iterator

import pytest

from pecia.kernel.store.cluster import DatabaseLogins
from tests.interfaces.shell import Shell, opened_shell
from tests.interfaces.test_cli_commands import external

pytestmark = pytest.mark.slow

FACTS = ["The staging database is db-7 in Oslo.", "The release branch is called harbour."]


@pytest.fixture(scope="module")
def shell(module_database: DatabaseLogins) -> Iterator[Shell]:
    with opened_shell(external(module_database)) as opened:
        yield opened


def test_a_json_list_is_the_list_that_a_memory_tool_takes(shell: Shell) -> None:
    learn = ("call", "cipher_extract_and_operate_memory", "--interaction", json.dumps(FACTS))
    learned = shell.ok(*learn, "--json").document
    assert learned["extraction"]["extracted"] == len(FACTS)
    found = shell.ok("call", "cipher_memory_search", "--query", "staging", "--json").document
    assert [it["text"] for it in found["results"]][:1] == FACTS[:1]


@pytest.mark.parametrize(
    "scopes",
    [
        ("--scopes", "pecia.read", "pecia.write"),
        ("--scopes", "pecia.read,pecia.write"),
        ("--scopes", "pecia.read", "--scopes", "pecia.write"),
    ],
)
def test_scopes_of_a_token_are_written_as_people_write_lists(
    shell: Shell, scopes: tuple[str, ...]
) -> None:
    for words in (("ci", *scopes), (*scopes, "ci")):
        made = shell.ok("token", "make", *words, "--json").document
        assert (made["label"], made["scopes"]) == ("ci", ["pecia.read", "pecia.write"])


def test_an_unknown_scope_is_refused_with_those_there_are(shell: Shell) -> None:
    refused = shell.run("token", "make", "ci", "--scopes", "pecia.read,all")
    assert refused.code == 2
    assert (
        "one of read|write|admin|pecia.search|pecia.read|pecia.write|pecia.admin; got 'all'"
        in refused.err
    )


def test_a_short_bucket_is_refused_with_what_a_name_is(shell: Shell) -> None:
    refused = shell.run("source", "add", "plans", "--s3", "s3://ab")
    assert (refused.code, refused.out) == (1, "")
    assert "'ab' is not the name of a bucket: it has 3 to 63 lowercase letters" in refused.err


def test_a_site_that_cannot_be_fetched_is_refused_with_its_address(shell: Shell) -> None:
    refused = shell.run("source", "add", "site", "--web", "https://example.org:99999/")
    assert (refused.code, refused.out) == (1, "")
    assert "99999 is not a port" in refused.err
    assert "got: https://example.org:99999/" in refused.err
    assert "expected: https://HOST/PATH" in refused.err
