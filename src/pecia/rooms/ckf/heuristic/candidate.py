"""Something that may become an item of the package, with the sentences that say it. Pure."""

from dataclasses import dataclass, field

from pecia.kernel.errors import Json
from pecia.rooms.ckf.heuristic.reading import Line

# Inside the bands that the format gives: said so, said in other order, joined from two sentences.
VERBATIM = 0.92
SPLIT = 0.9
JOINED = 0.7
MADE = 0.5


@dataclass(slots=True, eq=False)
class Candidate:
    """`words` are what its id is made of; `lines` are its evidence, in the order of the text."""

    section: str
    words: str
    fields: dict[str, Json]
    lines: tuple[Line, ...]
    basis: str = "explicit"
    confidence: float = VERBATIM
    links: dict[str, list["Candidate"]] = field(default_factory=dict[str, list["Candidate"]])

    def link(self, name: str, other: "Candidate") -> None:
        found = self.links.setdefault(name, [])
        if other is not self and other not in found:
            found.append(other)


def said(section: str, line: Line, fields: dict[str, Json]) -> Candidate:
    """An item that one sentence says by itself."""
    return Candidate(section, line.text, fields, (line,), confidence=SPLIT)
