"""Our own words among a tool's, tools by their names, and errors of a server as errors here."""

import pytest

from pecia.interfaces.cli.commands.admin.operator import parse_quota_changes
from pecia.interfaces.cli.output.terminal import CommandUsageError
from pecia.interfaces.cli.server.client import error_from_document
from pecia.interfaces.cli.tools.backend import ToolInfo, find_tool
from pecia.interfaces.cli.tools.help import tool_help
from pecia.interfaces.cli.tools.run import split_words
from pecia.kernel.errors import (
    InternalError,
    InvalidInput,
    OutOfRange,
    PeciaError,
    ToolNotFound,
    UpstreamError,
    iter_errors,
)

SCHEMA = {
    "properties": {
        "source_id": {"type": "string", "description": "Which one."},
        "limit": {"type": "integer", "default": 50},
        "to": {"type": "array", "items": {"type": "string"}},
        "role": {"anyOf": [{"enum": ["reader", "owner"]}, {"type": "null"}]},
        "all": {"type": "boolean", "default": False},
    },
    "required": ["source_id"],
}


def tool(feature: str, name: str) -> ToolInfo:
    return ToolInfo(feature, name, f"{feature}.{name}", f"Does {name}.", SCHEMA)


TOOLS = [tool("lake", "search"), tool("memory", "search"), tool("lake", "list_files")]


@pytest.mark.parametrize("name", ["lake.list_files", "lake__list_files", "list_files"])
def test_a_tool_is_found_by_each_of_its_names(name: str) -> None:
    assert find_tool(TOOLS, name) is TOOLS[2]


def test_a_bare_name_that_two_tools_have_is_refused_with_both() -> None:
    with pytest.raises(ToolNotFound) as caught:
        find_tool(TOOLS, "search")
    assert caught.value.fields["expected"] == ["lake.search", "memory.search"]
    assert find_tool(TOOLS, "memory.search") is TOOLS[1]


def test_a_name_that_no_tool_has_is_refused_with_the_nearest() -> None:
    with pytest.raises(ToolNotFound, match=r"did you mean lake\.list_files"):
        find_tool(TOOLS, "lake.list_file")


def test_the_help_of_a_tool_names_every_argument() -> None:
    text = tool_help(TOOLS[2], "pecia source list", ("source_id",))
    assert text.startswith("Usage: pecia source list SOURCE_ID [ARGUMENTS]")
    for line in (
        "  --source-id STRING  (required)",
        "      Which one.",
        "  --limit INTEGER  (default 50)",
        "  --to STRING …",
        "  --role reader|owner",
        "  --all",
    ):
        assert line in text.splitlines()


def test_the_document_and_the_wish_for_help_are_taken_out() -> None:
    assert split_words(["--a", "1", "--args", "{}"]).document == "{}"
    assert split_words(["--a", "1", "--args={}"]).rest == ("--a", "1")
    assert split_words(["x", "--help"]).wants_help


def test_after_two_dashes_no_word_is_ours() -> None:
    split = split_words(["--", "--help", "--args"])
    assert not split.wants_help
    assert split.rest == ("--", "--help", "--args")


def test_a_document_that_is_announced_must_come() -> None:
    with pytest.raises(CommandUsageError, match="--args needs"):
        split_words(["--args"])


def test_a_refusal_of_a_server_is_the_same_error_here() -> None:
    told = OutOfRange("too many", field="limit", max=200)
    error = error_from_document({"error": told.payload()})
    assert type(error) is OutOfRange
    assert error.payload() == told.payload()


@pytest.mark.parametrize("is_retryable", [True, False])
def test_whether_to_try_again_is_as_the_server_said(is_retryable: bool) -> None:
    """Of one class some may be tried again and some not."""
    told = UpstreamError("files.move reported a failure", retryable=is_retryable).payload()
    error = error_from_document({"error": told})
    assert error is not None
    assert error.payload() == told


@pytest.mark.parametrize("kind", [it.code.name for it in iter_errors()])
def test_every_code_comes_back_as_itself(kind: str) -> None:
    error = error_from_document({"error": {"code": kind, "message": "m", "retryable": False}})
    assert isinstance(error, PeciaError)
    assert error.code.name == kind


def test_a_code_of_a_newer_server_is_a_failure_all_the_same() -> None:
    assert type(error_from_document({"error": {"code": "NEW", "message": "m"}})) is InternalError
    assert error_from_document("nonsense") is None
    assert error_from_document({"status": "ok"}) is None


def test_quotas_are_numbers_by_kind() -> None:
    assert parse_quota_changes(["files=10", "model-tokens=none"]) == {
        "files": 10,
        "model_tokens": None,
    }


@pytest.mark.parametrize("word", ["files", "files=", "files=-1", "files=1.5"])
def test_a_quota_that_is_no_number_is_misuse(word: str) -> None:
    with pytest.raises(CommandUsageError):
        parse_quota_changes([word])


def test_a_quota_of_an_unknown_kind_is_refused() -> None:
    with pytest.raises(PeciaError, match="no quota 'pages'"):
        parse_quota_changes(["pages=1"])


def test_a_misuse_tells_where_help_is() -> None:
    misuse = CommandUsageError(InvalidInput("wrong", field="x"), hint="pecia x --help")
    assert misuse.error.fields["hint"] == "pecia x --help"
