"""What each compression level keeps, as data."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Level:
    """`budget` is how many times the source's size the package may be; `None` sets no limit.

    `homes` is in how many rule sections one sentence may stand. `spare` leaves out what a reader
    of many packages knows. The trace is never cut: an item goes with its row or not at all.
    """

    chunk_chars: int
    homes: int
    budget: float | None = None
    statements: bool = False
    every_statement: bool = False
    aids: bool = False
    spare: bool = False
    notes: int = 12


LEVELS: dict[str, Level] = {
    "light": Level(chunk_chars=1600, homes=1, budget=4.0, notes=4),
    "standard": Level(chunk_chars=1200, homes=3, statements=True, aids=True),
    "dense": Level(chunk_chars=6000, homes=1, budget=2.48, spare=True, notes=0),
    "agentic": Level(
        chunk_chars=900, homes=9, statements=True, every_statement=True, aids=True, notes=60
    ),
}
# What a level gives up last comes first.
PRIORITY = (
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
