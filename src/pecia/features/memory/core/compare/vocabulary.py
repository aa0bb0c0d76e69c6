"""Words by what they do in a statement, from `vocabulary.txt`."""

from collections.abc import Mapping
from importlib.resources import files


def _read_sections() -> dict[str, list[str]]:
    sections: dict[str, list[str]] = {}
    lines: list[str] = []
    text = files("pecia.features.memory.core.compare").joinpath("vocabulary.txt").read_text("utf-8")
    for line in text.splitlines():
        if line.startswith("["):
            lines = sections.setdefault(line.strip("[]"), [])
        elif line and not line.startswith("#"):
            lines.append(line)
    return sections


LINES: Mapping[str, list[str]] = _read_sections()
"""The lines of each section."""

VOCABULARY: Mapping[str, frozenset[str]] = {
    name: frozenset(" ".join(lines).split()) for name, lines in LINES.items()
}

SYNONYMS: tuple[frozenset[str], ...] = tuple(frozenset(it.split()) for it in LINES["synonyms"])
"""Words that mean the same, a line each."""

WORDINGS: tuple[frozenset[str], ...] = tuple(frozenset(it.split()) for it in LINES["wordings"])
"""More of them, for wordings of one fact only."""
