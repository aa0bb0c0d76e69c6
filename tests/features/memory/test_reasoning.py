"""Traces of reasoning: found in a text, judged, kept, and found when a like task comes up."""

from typing import Any

import pytest

from pecia.kernel.errors import InvalidEnum, MissingField
from tests.features.memory.conftest import Memories

pytestmark = pytest.mark.anyio

TEXT = """Thought: The login test fails because the clock of the container is behind.
Action: Compare the time inside the container with that of the host.
Observation: It is four minutes behind, which is more than tokens allow.
Result: Mount /etc/localtime and start chrony in the container.
"""


async def traced(memories: Memories, text: str = TEXT) -> tuple[dict[str, Any], dict[str, Any]]:
    found = await memories.call(memories.bo, "cipher_extract_reasoning_steps", userInput=text)
    judged = await memories.call(memories.bo, "cipher_evaluate_reasoning", trace=found)
    return found, judged


async def stored(memories: Memories, text: str = TEXT) -> dict[str, Any]:
    trace, evaluation = await traced(memories, text)
    tool = "cipher_store_reasoning_memory"
    return (await memories.call(memories.bo, tool, trace=trace, evaluation=evaluation))["result"]


async def patterns(memories: Memories, query: str, **more: Any) -> list[dict[str, Any]]:
    tool = "cipher_search_reasoning_patterns"
    found = await memories.call(memories.bo, tool, query=query, **more)
    return found["result"]["patterns"]


@pytest.mark.requirement("memory.reasoning.stores", "memory.reasoning.searches")
async def test_a_trace_is_kept_with_its_evaluation_and_found_by_meaning(memories: Memories) -> None:
    kept = await stored(memories)
    assert kept["stored"] is True
    assert kept["metrics"] == {"stepCount": 4, "qualityScore": 1.0, "issueCount": 0}
    assert kept["taskContext"]["taskType"] == "debugging"
    [found] = await patterns(memories, "authentication broken, clock drift")
    assert (found["traceId"], found["id"]) == (kept["traceId"], kept["vectorId"])
    assert found["evaluation"]["qualityScore"] == 1.0
    assert found["stepTypes"] == ["thought", "action", "observation", "conclusion"]
    assert found["reasoningSteps"][3]["content"].startswith("Mount /etc/localtime")
    assert found["tags"] == ["reasoning"]
    assert found["text"].endswith("Quality: 1.00")
    [bare] = await patterns(memories, "clock drift", options={"includeEvaluations": False})
    assert "evaluation" not in bare


async def test_steps_have_types_and_the_trace_says_where_it_is_from(memories: Memories) -> None:
    trace = (await traced(memories))[0]["result"]["trace"]
    assert [it["type"] for it in trace["steps"]] == [
        "thought",
        "action",
        "observation",
        "conclusion",
    ]
    facts = trace["metadata"]
    assert (facts["stepCount"], facts["hasExplicitMarkup"]) == (4, True)
    assert facts["conversationLength"] == len(TEXT)
    assert trace["id"].startswith("trace_")


async def test_what_is_not_worth_keeping_is_not_kept_and_told(memories: Memories) -> None:
    trace, evaluation = await traced(memories)
    bad = {**evaluation["result"]["evaluation"], "shouldStore": False}
    tool = "cipher_store_reasoning_memory"
    refused = await memories.call(memories.bo, tool, trace=trace, evaluation=bad)
    assert refused["result"]["stored"] is False
    assert refused["result"]["reason"] == "quality_threshold"
    worse = {"qualityScore": 0.9, "issues": [{"type": "x", "severity": "high"}]}
    refused = await memories.call(memories.bo, tool, trace=trace, evaluation=worse)
    assert refused["result"]["reason"] == "quality_threshold"
    empty: dict[str, Any] = {"id": "t", "steps": []}
    refused = await memories.call(memories.bo, tool, trace=empty, evaluation={"qualityScore": 1})
    assert refused["result"]["reason"] == "empty_trace"
    assert await patterns(memories, "clock drift") == []


async def test_the_very_same_trace_is_kept_once(memories: Memories) -> None:
    await stored(memories)
    assert (await stored(memories))["reason"] == "already_stored"
    assert len(await memories.listed(memories.bo, kind="reasoning")) == 1


async def test_patterns_are_narrowed_by_quality_and_context(memories: Memories) -> None:
    await stored(memories)
    assert await patterns(memories, "clock", options={"minQualityScore": 1.0})
    assert await patterns(memories, "clock", context={"taskType": "debugging"})
    assert await patterns(memories, "clock", context={"complexity": "high"}) == []
    loops = "Thought: try it again\nThought: try it again\nThought: try it again\n"
    await stored(memories, loops)
    assert len(await patterns(memories, "try it again clock")) == 2
    assert (
        len(await patterns(memories, "try it again clock", options={"minQualityScore": 0.9})) == 1
    )


async def test_a_trace_of_another_shape_is_refused_by_field(memories: Memories) -> None:
    tool = "cipher_evaluate_reasoning"
    steps = [{"type": "guess", "content": "x"}]
    with pytest.raises(InvalidEnum) as refused:
        await memories.call(memories.bo, tool, trace={"id": "t", "steps": steps})
    assert refused.value.fields["field"] == "trace.steps.0.type"
    with pytest.raises(MissingField):
        await memories.call(memories.bo, tool, trace={"id": "t"})
