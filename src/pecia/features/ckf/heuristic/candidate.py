"""Something that may become an item of the package, with the sentences that say it. Pure."""

from dataclasses import dataclass, field

from pecia.features.ckf.heuristic.parse.text import Sentence
from pecia.kernel.errors import Json

# Inside the bands that the format gives: said so, said in other order, joined from two sentences.
VERBATIM_CONFIDENCE = 0.92
SPLIT_CONFIDENCE = 0.9
JOINED_CONFIDENCE = 0.7
DERIVED_CONFIDENCE = 0.5


@dataclass(slots=True, eq=False)
class ItemCandidate:
    """`words` are what its id is made of; `lines` are its evidence, in the order of the text."""

    section: str
    words: str
    fields: dict[str, Json]
    lines: tuple[Sentence, ...]
    basis: str = "explicit"
    confidence: float = VERBATIM_CONFIDENCE
    links: dict[str, list["ItemCandidate"]] = field(
        default_factory=dict[str, list["ItemCandidate"]]
    )

    def link(self, name: str, other: "ItemCandidate") -> None:
        found = self.links.setdefault(name, [])
        if other is not self and other not in found:
            found.append(other)


def verbatim_candidate(section: str, line: Sentence, fields: dict[str, Json]) -> ItemCandidate:
    """An item that one sentence says by itself."""
    return ItemCandidate(section, line.text, fields, (line,), confidence=SPLIT_CONFIDENCE)
