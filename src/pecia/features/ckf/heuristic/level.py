"""The compression levels, as data."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class CompressionProfile:
    """`budget` limits the package's size, as a multiple of the source's; `None`: no limit.

    `sections_per_sentence`: in how many rule sections one sentence may be. `spare` leaves out
    boilerplate. The trace is never cut: an item is kept with its row or dropped.
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
# Highest priority first: a level drops items from the end.
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
