"""`pecia eval questions` from a shell: what is counted and refused, and a model that answers."""

import json
from collections.abc import Iterator

import pytest

from pecia.kernel.store.cluster import DatabaseLogins
from tests.interfaces.shell import Shell, opened_shell
from tests.interfaces.test_cli_commands import external
from tests.provider import Calls, LoopbackProvider

pytestmark = pytest.mark.slow

LINE = {
    "question": "How long may a bike be lent?",
    "doc_name": "rules",
    "evidence": [{"evidence_page_num": 1}],
}


@pytest.fixture
def shell(database: DatabaseLogins) -> Iterator[Shell]:
    with opened_shell(external(database)) as made:
        (made.root / "questions.jsonl").write_text(json.dumps(LINE))
        (made.root / "bad.jsonl").write_text(json.dumps(LINE) + "\n{}")
        made.ok("source", "add", "inbox", "--protocol", "upload")
        yield made


def test_questions_are_counted_and_mistakes_are_named(shell: Shell) -> None:
    asked = ("eval", "questions", "questions.jsonl", "--json", "--mode")
    found = shell.ok(*asked, "lexical", "--source", "inbox").document
    assert (found["questions"], found["page@10"], found["degraded"]) == (1, 0.0, [])
    assert found["each"] == [{"id": "1", "document_at": None, "page_at": None}]
    for words, field in (
        ((*asked, "fuzzy", "--source", "inbox"), "mode"),
        (("eval", "questions", "bad.jsonl", "--json", "--source", "inbox"), "doc_name"),
    ):
        refused = shell.run(*words)
        assert (refused.code, refused.document["error"]["field"]) == (1, field)
    missing = shell.run(*asked, "lexical", "--source", "nowhere").document
    assert missing["error"]["code"] == "NOT_FOUND"


def test_the_configured_model_answers(shell: Shell) -> None:
    cited = [{"key": "rules.pdf", "page_no": 2}]
    script = (
        Calls({"action": "search", "query": "lent"}),
        Calls({"action": "answer", "answer": "Three days.", "cited": cited}),
    )
    asked = ("eval", "questions", "questions.jsonl", "--source", "inbox", "--mode", "agentic")
    with LoopbackProvider(*script) as provider:
        env = {"PECIA_CKF_OPERATOR_URL": f"{provider.url}/v1", "PECIA_CKF_OPERATOR_MODEL": "own"}
        found = shell.ok(*asked, "--json", env=env).document
    assert (found["model"], found["answered"], found["page_cited"]) == ("own", 1.0, 1.0)
    assert (found["page_seen"], found["turns"]) == (0.0, 2.0)
    assert found["each"][0]["answer"] == "Three days."
