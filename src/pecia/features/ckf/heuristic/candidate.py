"""A candidate item with the sentences that support it. Pure."""

from dataclasses import dataclass, field

from pecia.features.ckf.heuristic.parse.text import Sentence
from pecia.kernel.errors import Json

# In the confidence bands of the format: verbatim, reordered, joined from two sentences, derived.
VERBATIM_CONFIDENCE = 0.92
SPLIT_CONFIDENCE = 0.9
JOINED_CONFIDENCE = 0.7
DERIVED_CONFIDENCE = 0.5


@dataclass(slots=True, eq=False)
class ItemCandidate:
    """`words` is the text its id is derived from; `lines` are its evidence, in document order."""

    section: str
    words: str
    fields: dict[str, Json]
    lines: tuple[Sentence, ...]
    basis: str = "explicit"
    confidence: float = VERBATIM_CONFIDENCE
    # Whether its sentence was surely cut between two clauses; else it is only possible.
    certain: bool = True
    links: dict[str, list["ItemCandidate"]] = field(
        default_factory=dict[str, list["ItemCandidate"]]
    )

    def link(self, name: str, other: "ItemCandidate") -> None:
        found = self.links.setdefault(name, [])
        if other is not self and other not in found:
            found.append(other)


def verbatim_candidate(
    section: str, line: Sentence, fields: dict[str, Json], *, certain: bool = True
) -> ItemCandidate:
    """A candidate that is one whole sentence."""
    return ItemCandidate(
        section, line.text, fields, (line,), confidence=SPLIT_CONFIDENCE, certain=certain
    )
