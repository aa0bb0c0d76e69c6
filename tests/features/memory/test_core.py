"""The rules of the memory feature, without a store: tags, decisions, verdicts, scores."""

from typing import Any

import pytest

from pecia.features.memory.chat_model import parse_queries
from pecia.features.memory.core.compare.similarity import TermQuery, term_coverage, term_overlap
from pecia.features.memory.core.decide import MemoryCandidate, decide, is_echo
from pecia.features.memory.core.evaluate import TraceChecks, evaluate_trace
from pecia.features.memory.core.format import truncate_preview
from pecia.features.memory.core.progress import extract_progress
from pecia.features.memory.core.tags import detect_domain, extract_code, extract_tags
from pecia.features.memory.core.toolset import is_listed, tool_not_listed
from pecia.features.memory.core.trace import TraceStep, complexity_of, extract_steps
from pecia.features.memory.core.utterance import read_standing, read_utterance
from pecia.features.memory.core.verdict import ModelVerdict, parse_verdict
from pecia.features.memory.model import MemoryEvent, new_id
from pecia.features.memory.settings import MemorySettings


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("Hash passwords with argon2", "Hash passwords with argon2"),
        ("the login endpoint lives in auth/login.py", "the login endpoint lives in auth/login.py"),
        ("My cat is called Minka and likes fish", "My cat is called Minka and likes fish"),
        ("Please remember: my favourite editor is Helix", "my favourite editor is Helix"),
        ("Can you remember that Tom is ill?", "Tom is ill"),
        ("Let's go with the green design.", "Let's go with the green design."),
        ("I hate olives.", "I hate olives."),
        ("Good evening, hope your flight was fine!", ""),
        ("Okay, that looks really good.", ""),
        ("Hmm, let me check that again first.", ""),
        ("Imagine we had no database at all.", ""),
        ("If I were on holiday I would read more.", ""),
        ("Thanks! The fix was to raise the limit.", "The fix was to raise the limit."),
        ("Never push to main.", "Never push to main."),
        ("I'm vegetarian.", "I'm vegetarian."),
        ("", ""),
        ("hello there, how are you doing today", ""),
        ("yes", ""),
        ("ok.", ""),
        ("What is my name?", ""),
        ("which editor do I use", ""),
        ("How do I configure the database server?", ""),
        ("Write me a haiku about autumn.", ""),
        ("Task completed successfully", ""),
        ("Searching memories...", ""),
    ],
)
def test_statements_are_kept_and_small_talk_questions_and_requests_are_not(
    text: str, kept: str
) -> None:
    found = read_utterance(text)
    assert found.kept == kept
    assert bool(found.reason) or kept


@pytest.mark.parametrize(
    ("text", "standing"),
    [
        ("Always answer in German.", "instruction"),
        ("Use pnpm, not npm.", "instruction"),
        ("Give me three options whenever I ask for advice.", "instruction"),
        ("I prefer trains to planes.", "preference"),
        ("Réponds toujours en français.", "instruction"),
        ("N'utilise jamais le tutoiement.", "instruction"),
        ("Schreibe nie ohne Anrede.", "instruction"),
        ("Usa sempre i gradi.", "instruction"),
        ("Отвечай всегда кратко.", "instruction"),
        ("总是用中文回答", "instruction"),
        ("Please write dates as YYYY-MM-DD in all reports.", "instruction"),
        ("Anna kommt immer zu spät.", None),
        ("Er ist nie zu Hause.", None),
        ("Ana siempre llega tarde.", None),
        ("Анна всегда опаздывает.", None),
        ("Mai 2023 war warm.", None),
        ("Fix the failing tests in all modules.", None),
        ("The train leaves at nine.", None),
        ("Give me three options.", None),
        ("Ana: Never say that.", None),
        ("Do you always answer in German?", None),
        # A preference may stand in the middle of a request, and a request is none.
        ("I need a lunch place, and I prefer quiet ones, can you suggest some?", "preference"),
        ("Da ich Züge bevorzuge: ich bevorzuge auch Nachtzüge, was gibt es?", "preference"),
        ("I want security changes that keep the app fast.", "preference"),
        ("I want to make sure that the form works.", None),
        ("I'd like to see the report.", None),
        ("I would love to visit Rome with you.", None),
        ("Should I prefer trains?", None),
        ("Can you check why I have never deployed it to the test server", None),
    ],
)
def test_what_holds_for_all_that_is_asked_later_is_told_from_facts(
    text: str, standing: str | None
) -> None:
    assert read_standing(text) == standing


@pytest.mark.parametrize(
    ("text", "tags"),
    [
        ("We are going to the javascript shop", ["javascript"]),
        ("Java and Go, but not going", ["java", "go"]),
        ("Use React with TypeScript", ["typescript", "react"]),
        ("kubectl talks to k8s", ["kubernetes"]),
        ("Nothing to see here", ["general-knowledge"]),
        ("```py\nx = 1\n```", ["python", "code-block"]),
        ("The API of the server", ["api"]),
        ("Look at src/pecia/app.py", ["file-path"]),
    ],
)
def test_tags_are_whole_words(text: str, tags: list[str]) -> None:
    assert extract_tags(text) == tags


def test_the_domain_is_that_of_most_words_and_code_is_the_first_block() -> None:
    assert detect_domain("Deploy the docker image with terraform") == "devops"
    assert detect_domain("git rebase, then merge the branch") == "version-control"
    assert detect_domain("The cat sleeps") is None
    assert extract_code("a\n```sh\nls\n```\n```\nsecond\n```") == "ls"
    assert extract_code("```\n" + "x" * 5000 + "\n```") == "x" * 4000
    assert extract_code("no code") is None


@pytest.mark.parametrize(
    ("old", "new", "similarity_", "event"),
    [
        ("We use PostgreSQL.", "We use PostgreSQL.", 1.0, MemoryEvent.NONE),
        ("We use PostgreSQL.", "we use  PostgreSQL", 1.0, MemoryEvent.NONE),
        ("We use PostgreSQL.", "we use postgresql", 1.0, MemoryEvent.ADD),
        ("We use PostgreSQL.", "We use PostgreSQL. It runs in Frankfurt.", 0.9, MemoryEvent.UPDATE),
        (
            "We use PostgreSQL",
            "We use PostgreSQL\n\nIt runs in Frankfurt.",
            0.9,
            MemoryEvent.UPDATE,
        ),
        ("We use PostgreSQL", "We use PostgreSQL\nin Frankfurt.", 0.9, MemoryEvent.ADD),
        ("We use PostgreSQL.", "We use PostgreSQL 16 with pgvector.", 0.9, MemoryEvent.ADD),
        ("We use PostgreSQL. It runs in Frankfurt.", "We use PostgreSQL", 0.9, MemoryEvent.NONE),
        ("We use PostgreSQL 16 with pgvector.", "We use PostgreSQL", 0.9, MemoryEvent.ADD),
        ("Few servers run it. All restart.", "servers run it.", 0.9, MemoryEvent.ADD),
        ("We deploy on Fridays.", "We do not deploy on Fridays.", 0.9, MemoryEvent.ADD),
        ("Service A uses port 1.", "Service B uses port 2.", 0.9, MemoryEvent.ADD),
        ("We use PostgreSQL.", "Cats sleep all day.", 0.1, MemoryEvent.ADD),
        ("We use C.", "We use C++.", 0.95, MemoryEvent.ADD),
        ("Require n >= 3.", "Require n <= 3.", 0.99, MemoryEvent.ADD),
        ("Stop if x != 3", "Stop if x = 3", 0.99, MemoryEvent.ADD),
        ("Delete /tmp/*", "Delete /tmp/", 0.99, MemoryEvent.ADD),
        ("The pipe is 5' long.", 'The pipe is 5" long.', 0.99, MemoryEvent.ADD),
        ("It needs 5 mW.", "It needs 5 MW.", 0.99, MemoryEvent.ADD),
        ("It needs 5 MW.", "IT NEEDS 5 MW", 0.99, MemoryEvent.ADD),
        ("It needs 64 GB.", "it needs 64 gb", 0.99, MemoryEvent.ADD),
        ("We use PostgreSQL.", "We use PostgreSQL?", 0.99, MemoryEvent.ADD),
        ("Die Masse ist bekannt.", "Die Maße ist bekannt.", 0.99, MemoryEvent.ADD),
        ("Die Maße ist bekannt.", "DIE MASSE IST BEKANNT!", 0.99, MemoryEvent.ADD),
        ("Service A calls service B.", "Service B calls service A.", 0.99, MemoryEvent.ADD),
        ("!!!", "???", 0.99, MemoryEvent.ADD),
        ("Retry twice, then give up.", "Retry  twice,\nthen give up", 0.99, MemoryEvent.NONE),
        ("Hermes retries.", "hermes retries.", 0.99, MemoryEvent.ADD),
        ("IT retries it.", "It retries it.", 0.99, MemoryEvent.ADD),
        ("List all in .", "List all in", 0.99, MemoryEvent.ADD),
        ("Use v1.", "Use v1", 0.99, MemoryEvent.ADD),
    ],
)
def test_a_text_is_added_extends_what_is_known_or_is_left(
    old: str, new: str, similarity_: float, event: MemoryEvent
) -> None:
    decided = decide(new, [MemoryCandidate("1", old, similarity_)], threshold=0.6)
    assert decided.event is event, decided.reason
    assert (decided.target is None) is (event is MemoryEvent.ADD)


def test_nothing_known_is_an_addition() -> None:
    decided = decide("x", [], 0.6)
    assert (decided.event, decided.confidence, decided.quality) == (
        MemoryEvent.ADD,
        0.8,
        "similarity",
    )


@pytest.mark.parametrize(
    ("said", "read"),
    [
        (
            '{"operation": "UPDATE", "confidence": 0.8, "targetMemoryId": "7"}',
            ModelVerdict(MemoryEvent.UPDATE, 0.8, "7"),
        ),
        ('{"operation": "ADD"}', ModelVerdict(MemoryEvent.ADD, 0.7)),
        (
            'Well: {"operation": "none", "confidence": 7} {"x": 1}',
            ModelVerdict(MemoryEvent.NONE, 1.0),
        ),
        (
            '{"broken {"operation": "DELETE", "targetMemoryId": 4}',
            ModelVerdict(MemoryEvent.DELETE, 0.7, "4"),
        ),
        (
            '{"text": "}{", "operation": "ADD", "confidence": 0.5}',
            ModelVerdict(MemoryEvent.ADD, 0.5),
        ),
        (
            "operation: UPDATE, confidence: 0.65, targetMemoryId: m-1",
            ModelVerdict(MemoryEvent.UPDATE, 0.65, "m-1"),
        ),
        ("I would add this.", ModelVerdict(MemoryEvent.ADD, 0.6)),
        ("Do not delete it, update it.", None),
        ("No idea.", None),
        ("", None),
        ('{"operation": "DROP TABLE"}', None),
        ('{"operation": "ADD", "confidence": "sure"}', ModelVerdict(MemoryEvent.ADD, 0.7)),
        ("x" * 30_000 + "ADD", None),
    ],
)
def test_a_verdict_is_read_from_whatever_was_said(said: str, read: ModelVerdict | None) -> None:
    assert parse_verdict(said) == read


STEP = "This step says enough to be one of its own, number"


@pytest.mark.parametrize(
    ("steps", "score", "issues", "stored"),
    [
        ([], 0.7, ["empty_trace"], False),
        ([TraceStep("thought", "Look at the logs of the server")], 1.0, [], True),
        (
            [
                TraceStep("thought", "Look at the logs again"),
                TraceStep("thought", "look at the logs  AGAIN"),
            ],
            0.6,
            ["reasoning_loop", "semantic_redundancy"],
            True,
        ),
        (
            [TraceStep("thought", f"{STEP} {it}") for it in range(4)],
            0.7,
            ["semantic_redundancy", "low_diversity"],
            True,
        ),
        (
            [TraceStep("thought", "short"), TraceStep("action", "Run the whole test suite")],
            0.9,
            ["trivial_content"],
            True,
        ),
    ],
)
def test_a_trace_is_scored_by_its_issues(
    steps: list[TraceStep], score: float, issues: list[str], stored: bool
) -> None:
    found = evaluate_trace(steps)
    assert [it.type for it in found.issues] == issues
    assert found.quality_score == pytest.approx(score)
    assert found.should_store is stored
    assert len(found.suggestions) == len(issues)


def test_only_what_is_asked_for_is_checked_and_measured() -> None:
    twice = [TraceStep("thought", "again"), TraceStep("thought", "again")]
    plain = evaluate_trace(twice, TraceChecks(efficiency=False, loops=False, suggestions=False))
    assert (plain.issues, plain.suggestions, plain.quality_score) == ((), (), 1.0)
    metrics = evaluate_trace([TraceStep("thought", STEP), TraceStep("action", STEP + "!")]).metrics
    assert (metrics.efficiency, metrics.clarity, metrics.completeness) == (0.2, 1.0, 0.4)


def test_marked_steps_are_found_with_what_stands_below_them_else_lines_that_sound_like_steps() -> (
    None
):
    found = extract_steps("# Thought: one\nmore of it\nRESULT: two", explicit=True, implicit=True)
    assert found.steps == (TraceStep("thought", "one\nmore of it"), TraceStep("conclusion", "two"))
    plain = "Maybe the cache is stale.\nshort\nTherefore I clear it.\nThe sky is blue today."
    found = extract_steps(plain, explicit=True, implicit=True)
    assert [it.type for it in found.steps] == ["thought", "conclusion"]
    assert not found.explicit
    assert extract_steps(plain, explicit=True, implicit=False).steps == ()


def test_complexity_goes_by_the_number_of_words() -> None:
    assert [complexity_of("word " * it) for it in (49, 50, 199, 200)] == [
        "low",
        "medium",
        "medium",
        "high",
    ]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("Found 2 memories:\n- The port is 6543.\n- Ana owns it.", True),
        ("1. The port is 6543.\n2. Ana owns it.", True),
        ("Related memory: The port is 6543.", True),
        ("The port is 6543.", False),
        ("The port is 6543. Not.", False),
        ("The port is 6543.7", False),
        ("Related memory modules must be paired.", False),
        ("Search results are cached for an hour", False),
    ],
)
def test_what_repeats_memories_is_told_by_what_it_says(text: str, found: bool) -> None:
    assert is_echo(text, ["The port is 6543.", "Ana owns it."]) is found


def test_notes_of_a_team_tell_who_how_far_and_where() -> None:
    found = extract_progress(
        "Finished the search page. Fixed a low severity bug in the pager of repo a/b."
    )
    assert found["currentProgress"] == {"feature": "search page", "status": "completed"}
    assert found["bugsEncountered"][0]["status"] == "fixed"
    assert found["bugsEncountered"][0]["severity"] == "low"
    assert found["workContext"] == {"repository": "a/b"}
    assert extract_progress("The cat sleeps on the sofa") == {}
    assert "completion" not in extract_progress("It is 250% better").get("currentProgress", {})


def test_likeness_by_words_knows_endings_and_texts_without_blanks() -> None:
    assert term_coverage("deployed services", "we deploy the service") == 1.0
    assert term_coverage("会議の時間", "会議の時間は三時です") == 1.0
    assert term_coverage("", "x") == 0.0
    assert term_overlap("a b", "a b") == 1.0
    # One word says less than many, and meaning counts where it says more.
    many = "zebra crossing by night here"
    assert TermQuery("zebra").similarity(many, None) < TermQuery(many).similarity(many, None) == 1.0
    assert TermQuery("x").similarity("y", 0.5) == 0.5
    assert TermQuery("x").similarity("y", -0.5) == 0.0


def test_ids_made_later_sort_later_and_are_of_version_7() -> None:
    ids = [new_id() for _ in range(50)]
    assert len({*ids}) == 50
    assert {it.version for it in ids} == {7}
    assert [it.int >> 80 for it in ids] == sorted(it.int >> 80 for it in ids)


def test_queries_of_a_model_are_taken_once_and_not_too_many() -> None:
    said = "Query 1: a b c\nquery 2: a b c\n3. nothing\nQuery 3: xy\n" + "\n".join(
        f"Query {it}: number {it}" for it in range(4, 12)
    )
    assert parse_queries(said) == ["a b c", "number 4", "number 5", "number 6", "number 7"]
    assert parse_queries("I cannot help with that.") == []


def test_a_preview_is_never_longer_than_it_may_be() -> None:
    assert truncate_preview("a\n b", 10) == "a b"
    assert len(truncate_preview("x" * 200, 80)) == 80


NAMES = (
    "ask_cipher",
    "contact_ct_knowledge_management",
    "cipher_memory_search",
    "cipher_extract_and_operate_memory",
    "cipher_store_reasoning_memory",
    "cipher_search_reasoning_patterns",
    "cipher_workspace_search",
    "cipher_add_node",
    "memory_list",
)


@pytest.mark.parametrize(
    ("given", "listed"),
    [
        ({}, ["ask_cipher"]),
        ({"use_ask_cipher": False}, []),
        ({"only_contact": True}, ["contact_ct_knowledge_management"]),
        ({"server_mode": "aggregator", "only_contact": True}, ["contact_ct_knowledge_management"]),
        ({"server_mode": "aggregator"}, [*NAMES[2:6], "memory_list"]),
        (
            {"server_mode": "aggregator", "use_ask_cipher": True, "disable_reflection": True},
            ["ask_cipher", *NAMES[2:4], "memory_list"],
        ),
        (
            {"server_mode": "aggregator", "use_workspace": True, "disable_default": True},
            [*NAMES[4:7], "memory_list"],
        ),
        (
            {"server_mode": "aggregator", "knowledge_graph": True},
            [*NAMES[2:6], "cipher_add_node", "memory_list"],
        ),
    ],
)
def test_settings_choose_the_tools_of_a_session(given: dict[str, Any], listed: list[str]) -> None:
    settings = MemorySettings(**given)
    assert [it for it in NAMES if is_listed(it, settings)] == listed


def test_a_tool_that_is_not_listed_is_refused_in_the_words_of_the_reference() -> None:
    refused = tool_not_listed("cipher_memory_search", MemorySettings())
    assert refused.message == "Tool 'cipher_memory_search' not found"
    assert "MCP_SERVER_MODE=aggregator" in str(refused.payload()["hint"])
    closed = tool_not_listed("ask_cipher", MemorySettings(server_mode="aggregator"))
    assert closed.message == "ask_cipher tool is disabled in this aggregator configuration"


def test_settings_that_cannot_both_hold_are_named() -> None:
    same = MemorySettings(use_workspace=True, workspace_collection="x", collection="x")
    assert [it.field for it in same.clashes()] == ["workspace_collection"]
    assert [it.field for it in MemorySettings(disable_default=True).clashes()] == [
        "disable_default"
    ]
    assert [*MemorySettings().clashes()] == []
