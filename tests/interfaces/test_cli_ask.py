"""`pecia ask`, with a model on loopback and without one."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest

from tests.interfaces.shell import Shell, opened_shell
from tests.interfaces.test_cli_verbs import on_a_terminal
from tests.provider import LoopbackProvider, Says

pytestmark = pytest.mark.slow

SENTENCE = "Tighten the spoke opposite the wobble."
QUESTION = ("which", "spoke", "is", "tightened")
SHAPE = {
    *("question", "outcome", "sentences", "quotations", "nearest"),
    *("used_model", "unsure", "dropped", "reworded", "note", "absent", "degraded"),
}


@dataclass(frozen=True, slots=True)
class AskedShell:
    shell: Shell
    provider: LoopbackProvider

    def says(self, *sentences: dict[str, Any]) -> None:
        """What the operator's model says from now on."""
        self.provider.script[:] = [Says(json.dumps({"sentences": [*sentences]}))]


@pytest.fixture(scope="module")
def asked() -> Iterator[AskedShell]:
    with LoopbackProvider() as provider:
        env = {"PECIA_CKF_OPERATOR_URL": f"{provider.url}/v1", "PECIA_CKF_OPERATOR_MODEL": "m"}
        with opened_shell(env) as shell:
            folder = shell.folder("notes")
            (folder / "wheels.md").write_text(f"# Wheels\n\n{SENTENCE}\n")
            (folder / "soup.md").write_text("# Soup\n\nBoil leeks for an hour.\n")
            shell.ok("start", folder, "--port", 0, "--detach", "--no-ask")
            shell.ok("source", "crawl", "wiki:notes", "--wait")
            yield AskedShell(shell, provider)


def quoting(text: str, words: str = SENTENCE) -> dict[str, Any]:
    return {"text": text, "quotes": [{"passage": 1, "words": words}]}


def test_every_sentence_cites_a_place_that_read_opens(asked: AskedShell) -> None:
    asked.says(quoting(SENTENCE))
    found = asked.shell.ok("ask", *QUESTION, "--json").document
    assert {*found} == SHAPE
    assert (found["outcome"], found["used_model"]) == ("answered", True)
    assert found["sentences"] == [{"text": SENTENCE, "quotations": [1]}]
    [quoted] = found["quotations"]
    assert SENTENCE in quoted["text"]
    for place in (quoted["uri"], f"{quoted['source']}/{quoted['path']}"):
        assert SENTENCE in asked.shell.ok("read", place).out


def test_a_terminal_shows_the_answer_with_numbers_and_what_they_stand_for(
    asked: AskedShell,
) -> None:
    asked.says(quoting(SENTENCE))
    shown = on_a_terminal(asked.shell, "ask", *QUESTION, env={"NO_COLOR": "1"})
    lines = [it.rstrip() for it in shown.splitlines()]
    assert lines[0] == f"{SENTENCE} [1]"
    assert " [1] Wheels" in lines
    assert "     wiki:notes/wheels.md" in lines
    assert all(len(it) <= 60 for it in lines)


def test_a_sentence_that_says_more_than_the_file_gives_way_to_the_quotation(
    asked: AskedShell,
) -> None:
    asked.says(quoting("Tighten the golden spoke opposite the wobble on Mondays."))
    found = asked.shell.ok("ask", *QUESTION, "--plain")
    first, quotation = found.out.splitlines()
    assert first.split("\t")[:3] == ["sentence", "1", ""]
    assert SENTENCE in first
    assert quotation.split("\t")[:3] == ["quotation", "1", "wiki:notes/wheels.md"]
    assert "golden" not in found.out


def test_without_a_model_the_passages_stand_as_they_are(asked: AskedShell) -> None:
    before = len(asked.provider.requests)
    found = asked.shell.ok("ask", *QUESTION, "--passages", "--json").document
    assert {*found} == SHAPE
    assert (found["outcome"], found["sentences"]) == ("passages", [])
    assert SENTENCE in found["quotations"][0]["text"]
    assert len(asked.provider.requests) == before
    shown = on_a_terminal(asked.shell, "ask", *QUESTION, "--passages")
    assert shown.startswith("These passages answer, word for word:")


def test_what_nothing_answers_is_said_and_is_an_exit_code(asked: AskedShell) -> None:
    asked.says(quoting("The moon is made of cheese.", "The moon is made of cheese."))
    done = asked.shell.run("ask", "what", "is", "the", "moon", "made", "of", "--json")
    assert (done.code, done.document["outcome"], done.document["quotations"]) == (1, "nothing", [])
    assert {*done.document} == SHAPE
    assert "nothing here answers this" in done.err
    places = [it["uri"] for it in done.document["nearest"]]
    assert len(places) == len({*places})


def test_a_question_is_needed_and_a_source_narrows_it(asked: AskedShell) -> None:
    assert asked.shell.run("ask").code == 2
    asked.says(quoting(SENTENCE))
    assert asked.shell.ok("ask", *QUESTION, "--path", "wheels*", "--json").document["quotations"]
    missing = asked.shell.run("ask", *QUESTION, "--source", "nowhere")
    assert (missing.code, "nowhere" in missing.err) == (1, True)
