"""Two facts are two memories, however alike they read; one fact said again is one.

Through the tools, on a real store: whatever is stored first is still found after the second.
"""

import json
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from anyio.from_thread import BlockingPortal, start_blocking_portal
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from pecia.kernel.store.cluster import DatabaseLogins
from tests.features.memory.conftest import Memories, Scripted, open_memories, with_mind
from tests.laws.fact_pairs import Twins, rearranged, restated, sentences, swapped, twins
from tests.soak import SOAK

pytestmark = pytest.mark.timeout(0 if SOAK else 300)

few = settings(
    max_examples=3000 if SOAK else 12,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
)
ALPHA = "Server {} in the Frankfurt data centre runs PostgreSQL 15 with 64 GB of memory."
KINDS = {
    "knowledge": ("cipher_extract_and_operate_memory", "cipher_memory_search", "memory"),
    "workspace": ("cipher_workspace_store", "cipher_workspace_search", "workspace"),
}


@dataclass(frozen=True, slots=True)
class Law:
    """The memories of one caller, asked from outside the event loop."""

    memories: Memories
    portal: BlockingPortal

    def fresh(self) -> "Law":
        """The same with no memory yet."""
        name = uuid4().hex
        sets = {it: f"{it[0]}{name}" for it in ("collection", "workspace_collection")}
        return replace(self, memories=self.memories.within(**sets))

    def call(self, tool: str, **arguments: Any) -> dict[str, Any]:
        async def run() -> dict[str, Any]:
            return await self.memories.call(self.memories.bo, tool, **arguments)

        return self.portal.call(run)

    def store(self, kind: str, *texts: str, **more: Any) -> list[dict[str, Any]]:
        tool, _, field = KINDS[kind]
        return self.call(tool, interaction=[*texts], **more)[field]

    def found(self, kind: str, text: str) -> list[str]:
        return [it["text"] for it in self.call(KINDS[kind][1], query=text[:1000])["results"]]

    def listed(self, kind: str) -> list[str]:
        return [it["text"] for it in self.call("memory_list", kind=kind)["memories"]]

    def readable(self, kind: str) -> list[str]:
        """Everything that was ever said, whether it holds or not."""
        found = self.call("memory_list", kind=kind, include=["superseded"])
        return [it["text"] for it in found["memories"]]

    def has_both(self, kind: str, pair: Twins) -> None:
        assert {pair.one, pair.other} <= {*self.listed(kind)}
        for text in (pair.one, pair.other):
            assert text in self.found(kind, text)


@pytest.fixture(scope="module")
def opened(
    module_database: DatabaseLogins, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Law]:
    home: Path = tmp_path_factory.mktemp("home")
    with (
        start_blocking_portal() as portal,
        portal.wrap_async_context_manager(open_memories(module_database, home)) as memories,
    ):
        yield Law(memories, portal)


@few
@given(twins, st.sampled_from([*KINDS]), st.booleans())
@example(Twins(ALPHA.format("alpha01"), ALPHA.format("alpha02")), "knowledge", False)
@example(Twins(ALPHA.format("Foo"), ALPHA.format("foo")), "knowledge", False)
@example(Twins(ALPHA.format("3a"), ALPHA.format("3A")), "workspace", False)
@example(Twins("The share of it is 10%", "The share of it is 10"), "knowledge", True)
def test_two_facts_that_are_nearly_alike_are_both_found(
    opened: Law, pair: Twins, kind: str, in_one_call: bool
) -> None:
    law = opened.fresh()
    if in_one_call:
        law.store(kind, pair.one, pair.other)
    else:
        law.store(kind, pair.one)
        law.store(kind, pair.other)
    law.has_both(kind, pair)


@few
@given(rearranged, st.booleans(), st.booleans())
@example(
    Twins(
        "The red valve must be closed before the blue valve is opened.",
        "The blue valve must be closed before the red valve is opened.",
    ),
    False,
    False,
)
@example(
    Twins(
        "The north gate is open and the south gate is closed.",
        "The south gate is open and the north gate is closed.",
    ),
    False,
    False,
)
@example(
    Twins(
        "The first floor is heated and the second floor is cooled.",
        "The second floor is heated and the first floor is cooled.",
    ),
    True,
    False,
)
@example(
    Twins(
        "The primary key is stored in the safe and the spare key in the office.",
        "The spare key is stored in the safe and the primary key in the office.",
    ),
    False,
    False,
)
@example(
    Twins("If the alarm rings, the door is locked.", "If the door is locked, the alarm rings."),
    False,
    True,
)
@example(
    Twins("Only managers can approve refunds.", "Managers can only approve refunds."), False, False
)
@example(
    Twins(
        "Servers in Berlin are restarted only by hand.",
        "Only servers in Berlin are restarted by hand.",
    ),
    False,
    False,
)
@example(Twins("Ana is helped by Bo.", "Ana helps Bo."), False, False)
@example(Twins("The bug is in the parser.", "The parser is in the bug."), False, False)
@example(Twins("Managers are employees.", "Employees are managers."), False, False)
def test_the_same_words_in_other_roles_are_another_fact(
    opened: Law, pair: Twins, in_one_call: bool, is_back: bool
) -> None:
    law = opened.fresh()
    texts = (pair.other, pair.one) if is_back else (pair.one, pair.other)
    for batch in [texts] if in_one_call else [(it,) for it in texts]:
        law.store("knowledge", *batch)
    law.has_both("knowledge", pair)


@few
@given(restated(), st.sampled_from([*KINDS]), st.booleans())
def test_a_fact_that_is_said_again_is_one_memory(
    opened: Law, said: tuple[str, str], kind: str, in_one_call: bool
) -> None:
    law = opened.fresh()
    text, again = said
    if in_one_call:
        law.store(kind, text, again)
    else:
        [first] = law.store(kind, text)
        [second] = law.store(kind, again)
        assert (second["event"], second["id"]) == ("NONE", first["id"])
    assert law.listed(kind) == [text]


@few
@given(swapped(), st.sampled_from(["UPDATE", "DELETE", "NONE"]))
def test_no_word_of_a_model_costs_a_fact(opened: Law, pair: Twins, operation: str) -> None:
    law = opened.fresh()
    [first] = law.store("knowledge", pair.one)
    verdict = {"operation": operation, "confidence": 1.0, "targetMemoryId": first["id"]}
    wrong = replace(law, memories=with_mind(law.memories, Scripted(json.dumps(verdict))))
    wrong.store("knowledge", pair.other)
    law.has_both("knowledge", pair)


@few
@given(sentences, st.lists(sentences, min_size=1, max_size=3), st.booleans())
def test_what_extends_a_memory_keeps_its_words_and_those_of_the_others(
    opened: Law, text: str, more: list[str], in_one_call: bool
) -> None:
    """Whatever becomes of texts that begin alike, every one of them is said by some memory."""
    law = opened.fresh()
    law.store("knowledge", text)
    longer = [f"{text.rstrip('.。')}. {it}" for it in more]
    for batch in [longer] if in_one_call else [[it] for it in longer]:
        law.store("knowledge", *batch)
    kept = law.readable("knowledge")
    for it in (text.rstrip(".。"), *longer):
        assert any(memory.startswith(it) for memory in kept), it


@few
@given(sentences, st.lists(sentences, min_size=1, max_size=3))
def test_whatever_a_memory_said_before_can_be_read(
    opened: Law, text: str, later: list[str]
) -> None:
    law = opened.fresh()
    id_ = law.store("knowledge", text)[0]["id"]
    said = [text]
    for it in later:
        id_ = law.call("memory_edit", id=id_, text=it)["memory"]["id"]
        said += [it] if it != said[-1] else []
    got = law.call("memory_get", id=id_)
    assert [it["text"] for it in got["history"]] + [got["memory"]["text"]] == said
