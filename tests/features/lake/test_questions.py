"""Questions whose pages are known, put through the tools: once, and by a model in a loop."""

from collections.abc import Mapping

import pytest

from pecia.adapters.models.chat_model import ProviderChatModel
from pecia.app.evaluation.questions import (
    AgentAnswer,
    AgentLoop,
    load_configured_model,
    search_once,
    summarize_answers,
)
from pecia.app.evaluation.questions import LakeClient as Source
from pecia.features.ckf.settings import CkfSettings
from pecia.kernel.corpus.evaluation.questions import EvaluationQuestion, QuestionOutcome
from pecia.kernel.errors import Json, Unavailable
from tests.features.lake.conftest import Lake
from tests.provider import Calls, LoopbackProvider, Says, Scripted

pytestmark = pytest.mark.anyio

QUESTION = EvaluationQuestion(
    "q1",
    "How many days may a cargo bike be lent?",
    "rules_2024",
    frozenset({("rules_2024", 2)}),
    "Three days.",
)
PAGES = "Contents\n\fLending\n\nA cargo bike may be lent for three days.\n\fRepairs\n\nNone.\n"


def source_of(lake: Lake) -> Source:
    async def tool(name: str, arguments: Mapping[str, Json]) -> Json:
        return await lake.house.call(lake.house.ana, name, **arguments)

    return Source(tool, "docs")


async def answered(
    lake: Lake, *script: Scripted, turns: int = 4
) -> tuple[AgentAnswer, LoopbackProvider]:
    """What came of a talk, and the provider that it went through."""
    lake.write({"rules_2024.txt": PAGES})
    await lake.crawl()
    with LoopbackProvider(*script) as provider:
        model = ProviderChatModel(provider.as_provider(), guard=provider.guard)
        return await AgentLoop(source_of(lake), model, "", turns).answer(QUESTION), provider


async def test_a_question_sent_as_it_is_finds_its_page(lake: Lake) -> None:
    lake.write({"rules_2024.txt": PAGES, "other.txt": "Nothing of the kind."})
    await lake.crawl()
    asked = await search_once(source_of(lake), QUESTION, "lexical")
    assert asked.found == QuestionOutcome("q1", 1, 1)
    assert asked.degraded == ()


async def test_a_model_locates_reads_and_answers(lake: Lake) -> None:
    done, provider = await answered(
        lake,
        Calls({"action": "search", "query": "cargo bike lent"}),
        Calls({"action": "read", "key": "rules_2024.txt", "start": 0}),
        Calls(
            {
                "action": "answer",
                "answer": "Three days.",
                "cited": [{"key": "rules_2024.txt", "page_no": 2}],
            }
        ),
    )
    assert (done.answer, done.turns, done.why) == ("Three days.", 3, "")
    assert done.document_cited
    assert done.page_cited
    assert done.page_seen
    read = provider.requests[-1].body["messages"]
    assert any("[rules_2024.txt, page 2, chunk 1]" in str(it["content"]) for it in read)
    assert summarize_answers([done]) == {
        **dict.fromkeys(("answered", "document_seen", "page_seen"), 1.0),
        **dict.fromkeys(("document_cited", "page_cited"), 1.0),
        "turns": 3.0,
        "tokens_in": 30,
        "tokens_out": 15,
    }


async def test_what_a_tool_refuses_is_told_to_the_model(lake: Lake) -> None:
    done, provider = await answered(
        lake,
        Calls({"action": "read", "key": "missing.txt"}),
        Calls({"action": "answer", "answer": "The files do not say."}),
    )
    assert (done.page_seen, done.page_cited) == (False, False)
    assert "refused: no file 'missing.txt'" in str(provider.requests[1].body["messages"])


async def test_a_model_that_never_answers_is_stopped(lake: Lake) -> None:
    done, provider = await answered(lake, Calls({"action": "search", "query": "bike"}), turns=3)
    assert (done.answer, done.why) == ("", "no answer within its turns")
    assert len(provider.requests) == 3
    assert "last step" in str(provider.requests[2].body["messages"])
    assert "last step" not in str(provider.requests[1].body["messages"])


async def test_a_model_that_fails_ends_its_question_and_no_more(lake: Lake) -> None:
    done, _ = await answered(lake, Says("no step at all"))
    assert done.why.startswith("the model failed: ")


def test_without_a_model_the_setting_is_named() -> None:
    with pytest.raises(Unavailable) as caught:
        load_configured_model(CkfSettings())
    assert "ckf.operator_url" in str(caught.value.fields["hint"])
