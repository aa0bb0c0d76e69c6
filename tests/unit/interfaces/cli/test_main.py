"""What every command has in common: its words, its exit codes, its errors, its cost."""

import json
import subprocess
import sys

import pytest

from pecia import __version__
from pecia.interfaces.cli.main import run, split_global_options
from pecia.interfaces.cli.output.terminal import Terminal
from pecia.kernel.errors import Conflict, InvalidInput

# Pydantic is not among them: Typer brings it along.
HEAVY = ("psycopg", "starlette", "uvicorn", "httpx", "mcp", "anyio", "cryptography", "orjson")


@pytest.mark.parametrize(
    "words", [["version"], ["--help"], ["token", "--help"], ["start", "--help"]]
)
def test_help_and_version_import_neither_the_web_nor_the_database(words: list[str]) -> None:
    code = (
        "import sys; from pecia.interfaces.cli.main import run; "
        f"code = run({words!r}); "
        f"loaded = [it for it in {HEAVY!r} if it in sys.modules]; "
        "sys.exit(f'loaded {loaded}' if loaded else code)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=30)
    assert done.stderr == ""
    assert done.returncode == 0


def test_the_version_is_the_version(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["version"]) == 0
    assert capsys.readouterr().out == f"{__version__}\n"


@pytest.mark.parametrize("words", [["version", "--json"], ["--json", "version"]])
def test_json_may_be_asked_for_anywhere(
    words: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(words) == 0
    assert json.loads(capsys.readouterr().out) == {"version": __version__}


def test_a_command_that_there_is_not_is_misuse(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["frobnicate"]) == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.startswith("[INVALID_INPUT] there is no command 'frobnicate' of pecia")
    assert "hint: pecia --help" in said.err


def test_misuse_under_json_is_one_document_too(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["frobnicate", "--json"]) == 2
    assert json.loads(capsys.readouterr().out)["error"]["code"] == "INVALID_INPUT"


def test_without_a_command_the_help_is_shown(capsys: pytest.CaptureFixture[str]) -> None:
    assert run([]) == 2
    said = capsys.readouterr()
    assert "Usage: pecia" in said.out
    assert said.err == ""


def test_words_after_two_dashes_are_not_ours() -> None:
    words, terminal = split_global_options(["call", "x", "--json", "--", "--debug"])
    assert words == ["call", "x", "--", "--debug"]
    assert (terminal.as_json, terminal.debug) == (True, False)


def test_an_error_names_its_code_its_field_and_what_to_do(
    capsys: pytest.CaptureFixture[str],
) -> None:
    code = Terminal().print_error(InvalidInput("x must be y", field="x", expected="y", hint="do z"))
    assert code == 1
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err == "[INVALID_INPUT] x must be y\n  field: x\n  expected: y\n  hint: do z\n"


def test_an_error_under_json_is_on_stdout_as_the_one_document(
    capsys: pytest.CaptureFixture[str],
) -> None:
    Terminal(as_json=True).print_error(Conflict("taken", port=7324))
    said = capsys.readouterr()
    assert json.loads(said.out) == {
        "error": {
            "code": "CONFLICT",
            "message": "taken",
            "retryable": False,
            "port": 7324,
            "hint": "Read it again, then decide.",
        }
    }
    assert said.err.startswith("[CONFLICT] taken")


def test_a_mistake_of_ours_shows_no_traceback_unless_asked(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert Terminal().print_crash(KeyError("oops")) == 1
    assert capsys.readouterr().err.startswith("[INTERNAL_ERROR] KeyError: 'oops'")
    with pytest.raises(KeyError):
        Terminal(debug=True).print_crash(KeyError("oops"))
