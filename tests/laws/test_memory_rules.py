"""Whatever a model says, a name is or a text holds: what the memory rules promise."""

import re
from uuid import UUID

from hypothesis import example, given, settings
from hypothesis import strategies as st

from pecia.features.memory.core.compare.relation import corrects, may_say_same, says_same
from pecia.features.memory.core.compare.restatement import restates
from pecia.features.memory.core.compare.similarity import TermQuery
from pecia.features.memory.core.decide import MemoryCandidate, decide
from pecia.features.memory.core.keys import MemoryFolder, encode_segment, own_ranges, shared_range
from pecia.features.memory.core.verdict import parse_verdict
from pecia.features.memory.graph.core.plan import (
    GraphChange,
    GraphOperation,
    GraphPlan,
    plan_change,
)
from pecia.features.memory.graph.model import GraphEdge, GraphNode, KnowledgeGraph
from pecia.features.memory.judge import DecisionRules, verdict_to_decision
from pecia.features.memory.model import MemoryEvent, MemoryKind
from pecia.features.memory.settings import WorkspaceMode
from pecia.kernel.text.glob import to_postgres_regex
from tests.laws.fact_pairs import Twins, restated, sentences, twins
from tests.soak import SOAK

few = settings(max_examples=5000 if SOAK else 50, deadline=None)

# Few signs, so that equal and nearly equal names come up, and those that mean something in a key.
names = st.text("aA-.~%2DE/*[ ", min_size=1, max_size=3) | st.text(min_size=1, max_size=100)
words = st.lists(st.sampled_from(("a", "b", "calls", "not", "80", "<=", "c", "c++")), max_size=6)
texts = words.map(" ".join)
said = st.one_of(
    st.text(max_size=200),
    st.lists(
        st.sampled_from(
            ['{"operation":', '"DELETE"', '"UPDATE"', ',"targetMemoryId":', '"1"', '"9"', "}", "{"]
        ),
        max_size=12,
    ).map("".join),
)
owners = st.sampled_from([UUID(int=it) for it in range(1, 4)])
modes: st.SearchStrategy[WorkspaceMode] = st.sampled_from(["isolated", "shared"])
places = st.builds(
    MemoryFolder,
    mode=modes,
    owner=owners,
    kind=st.sampled_from(MemoryKind),
    collection=names,
    project=st.none() | names,
)


@few
@given(said, st.floats(0, 1), st.booleans())
def test_a_verdict_names_only_what_was_shown_and_deletes_only_when_sure_and_allowed(
    answer: str, least: float, may_delete: bool
) -> None:
    shown = [MemoryCandidate("1", "a", 0.9), MemoryCandidate("2", "b", 0.8)]
    rules = DecisionRules(0.6, least, True, may_delete)
    verdict = parse_verdict(answer)
    if verdict is None:
        return
    assert 0 <= verdict.confidence <= 1
    decision = verdict_to_decision(verdict, shown, rules)
    if decision is None:
        return
    assert decision.target in (None, "1", "2")
    assert (decision.target is None) is (decision.event is MemoryEvent.ADD)
    assert decision.confidence >= least
    if decision.event is MemoryEvent.DELETE:
        assert may_delete


@few
@given(twins, st.floats(0, 1), st.floats(0, 1))
def test_a_different_fact_is_added_however_alike_it_is(
    pair: Twins, score: float, threshold: float
) -> None:
    decision = decide(pair.other, [MemoryCandidate("1", pair.one, score)], threshold)
    assert (decision.event, decision.target) == (MemoryEvent.ADD, None)


@few
@given(restated(), st.lists(sentences, max_size=3), st.floats(0, 1), st.floats(0, 1))
def test_the_same_fact_said_again_is_known(
    said: tuple[str, str], others: list[str], score: float, threshold: float
) -> None:
    text, again = said
    known = [it for it in others if not restates(it, text)]
    candidates = [MemoryCandidate(str(n), it, score) for n, it in enumerate([*known, text])]
    decision = decide(again, candidates, threshold)
    assert (decision.event, decision.target) == (MemoryEvent.NONE, str(len(known)))


@few
@given(words, st.lists(texts, max_size=3), st.floats(0, 1), st.floats(0, 1), st.data())
def test_the_heuristic_loses_no_word_that_was_said(
    new: list[str], others: list[str], score: float, threshold: float, data: st.DataObject
) -> None:
    text = " ".join(new)
    # The same words in another order are another text, and the one that is mistaken most easily.
    shuffled = " ".join(data.draw(st.permutations(new)))
    known = [*others, shuffled, f"{shuffled}. {text}", *new[:1]]
    candidates = [MemoryCandidate(str(n), old, score) for n, old in enumerate(known)]
    decision = decide(text, candidates, threshold)
    assert decision.event is not MemoryEvent.DELETE
    target = next((it.text for it in candidates if it.id == decision.target), "")
    if decision.event is MemoryEvent.UPDATE:
        assert text.startswith(target)
    # Another wording is stored with its own words.
    if decision.event is MemoryEvent.NONE and not decision.is_wording:
        assert target.startswith(text)


@few
@given(twins)
@example(Twins("The service on hermes runs.", "The service on hermes' runs."))
def test_twins_are_neither_one_fact_nor_a_correction_however_alike(pair: Twins) -> None:
    for one, other in ((pair.one, pair.other), (pair.other, pair.one)):
        assert not says_same(one, other)
        assert not may_say_same(one, other)
        assert not corrects(one, other)


@few
@given(st.permutations(["worker", "gateway", "Ana", "Bo"]), st.sampled_from(["calls", "waits for"]))
def test_who_does_something_to_whom_makes_the_fact(names: list[str], verb: str) -> None:
    one, other = names[:2]
    assert not says_same(f"The {one} {verb} the {other}.", f"The {other} {verb} the {one}.")


@few
@given(texts, texts, st.none() | st.floats(-1, 1))
def test_a_similarity_is_a_share_and_no_less_than_the_cosine(
    query: str, text: str, cosine: float | None
) -> None:
    found = TermQuery(query).similarity(text, cosine)
    assert 0 <= found <= 1
    assert found >= round(cosine or 0.0, 6)


@few
@given(names, names)
def test_names_become_parts_of_keys_that_differ_as_the_names_do(one: str, other: str) -> None:
    assert (encode_segment(one) == encode_segment(other)) == (one == other)
    assert encode_segment(one) != encode_segment(None)
    assert re.fullmatch(r"[A-Za-z0-9_%~-]+", encode_segment(one))
    assert len(encode_segment(one)) <= 120


@few
@given(places, places, st.booleans())
def test_an_area_holds_the_places_it_is_made_for_and_no_others(
    place: MemoryFolder, other: MemoryFolder, any_project: bool
) -> None:
    key = other.key(UUID(int=7))
    same = (place.kind, place.collection) == (other.kind, other.collection)
    projects = any_project or place.project == other.project
    for folder, area in zip(
        ("user", "shared"), own_ranges(place, any_project=any_project), strict=True
    ):
        expected = same and place.owner == other.owner and other.folder == folder and projects
        assert area.contains(key) is expected
        assert bool(re.search(to_postgres_regex(area.glob), key)) is expected
        assert key.startswith(area.prefix) is expected
    shared = shared_range(place)
    assert shared.contains(key) is (same and other.folder == "shared")
    assert bool(re.search(to_postgres_regex(shared.glob), key)) is shared.contains(key)


ids = st.sampled_from(["a", "b", "c", "d"])
graphs = st.lists(st.tuples(ids, st.sampled_from(["X", "Y"]), ids), max_size=6).map(
    lambda drawn: KnowledgeGraph(
        {it: GraphNode(it, ("L",), {"name": it.upper()}) for it in "abcd"},
        {
            f"e{n}": GraphEdge(f"e{n}", type_, one, other)
            for n, (one, type_, other) in enumerate(drawn)
        },
    )
)
operations: st.SearchStrategy[GraphOperation] = st.sampled_from(
    ["merge_entities", "replace_entity", "delete_relationships", "update_relationship"]
)


@few
@given(graphs, operations, st.sampled_from(["a", "B", "", "z"]), st.sampled_from(["b", "C", "new"]))
def test_a_plan_leaves_a_graph_whose_edges_have_both_ends(
    graph: KnowledgeGraph, operation: GraphOperation, one: str, other: str
) -> None:
    made = plan_change(graph, GraphChange(operation, one, other, "X", "Z"))
    after = carried_out(graph, made)
    for edge in after.edges.values():
        assert {edge.start_id, edge.end_id} <= after.nodes.keys()
    if made.problem:
        assert made.size == 0


def carried_out(graph: KnowledgeGraph, made: GraphPlan) -> KnowledgeGraph:
    """As the store does it: what goes takes its edges along."""
    nodes = {**graph.nodes, **{it.id: it for it in made.nodes}}
    edges = {**graph.edges, **{it.id: it for it in made.edges}}
    kept = {id_: it for id_, it in nodes.items() if id_ not in made.gone_nodes}
    return KnowledgeGraph(
        kept,
        {
            id_: it
            for id_, it in edges.items()
            if id_ not in made.gone_edges and not {it.start_id, it.end_id} & {*made.gone_nodes}
        },
    )
