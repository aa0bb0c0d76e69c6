"""What each compression level keeps, as data."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class CompressionProfile:
    """`budget` is how many times the source's size the package may be; `None` sets no limit.

    `homes` is in how many rule sections one sentence may stand. `spare` leaves out what a reader
    of many packages knows. The trace is never cut: an item goes with its row or not at all.
    """

    chunk_chars: int
    sections_per_sentence: int
    budget: float | None = None
    statements: bool = False
    every_statement: bool = False
    with_retrieval_aids: bool = False
    spare: bool = False
    max_notes: int = 12


PROFILE_BY_LEVEL: dict[str, CompressionProfile] = {
    "light": CompressionProfile(chunk_chars=1600, sections_per_sentence=1, budget=4.0, max_notes=4),
    "standard": CompressionProfile(
        chunk_chars=1200, sections_per_sentence=3, statements=True, with_retrieval_aids=True
    ),
    "dense": CompressionProfile(
        chunk_chars=6000, sections_per_sentence=1, budget=2.48, spare=True, max_notes=0
    ),
    "agentic": CompressionProfile(
        chunk_chars=900,
        sections_per_sentence=9,
        statements=True,
        every_statement=True,
        with_retrieval_aids=True,
        max_notes=60,
    ),
}
# What a level gives up last comes first.
SECTION_PRIORITY = (
    "retrieval_chunks",
    "exceptions",
    "procedures",
    "anti_patterns",
    "heuristics",
    "decision_rules",
    "if_then_rules",
    "qa_pairs",
    "concepts",
    "principles",
    "causal_chains",
    "patterns",
    "mental_models",
    "entities",
    "playbooks",
    "contextual_triggers",
    "atomic_units",
)
RULE_SECTIONS = frozenset(
    {
        "exceptions",
        "anti_patterns",
        "decision_rules",
        "if_then_rules",
        "principles",
        "heuristics",
    }
)
