"""Names that occur and words that the source defines. Pure; only words that it sees."""

import re
from dataclasses import dataclass, field

from pecia.kernel.errors import Json
from pecia.kernel.text.span import Span
from pecia.rooms.ckf.heuristic.blocks import Shape
from pecia.rooms.ckf.heuristic.candidate import Candidate
from pecia.rooms.ckf.heuristic.clauses import trim
from pecia.rooms.ckf.heuristic.cues.grammar import trie
from pecia.rooms.ckf.heuristic.cues.kind import Kind
from pecia.rooms.ckf.heuristic.reading import Line, Reading

LONGEST_LABEL_WORDS = 6
FEWEST_NAMES = 8
CHARS_PER_NAME = 600


def concepts(reading: Reading) -> list[Candidate]:
    """What the source defines: the label is always in the definition, as the source wrote it."""
    found: list[Candidate] = []
    seen: set[str] = set()
    for line in reading.lines:
        label = _defined(line, reading)
        if label and label.lower() not in seen:
            seen.add(label.lower())
            fields: dict[str, Json] = {"label": label, "definition": line.text}
            found.append(Candidate("concepts", label, fields, (line,)))
    _depend(found)
    return found


def entities(reading: Reading) -> list[Candidate]:
    """Names, most frequent first up to a share of the length, then in the order of the text."""
    names: dict[str, _Name] = {}
    for line in reading.lines:
        if line.tells or line.block.shape is Shape.ROW:
            _names_in(line, reading, names)
    kept = [it for it in names.values() if it.count > it.at_start or it.sure]
    most = max(FEWEST_NAMES, len(reading.text) // CHARS_PER_NAME)
    kept.sort(key=lambda it: (-it.count, it.line.span.start, it.name))
    chosen = sorted(kept[:most], key=lambda it: (it.line.span.start, it.name))
    return [_entity(it) for it in chosen]


@dataclass(slots=True)
class _Name:
    name: str
    line: Line
    start: int
    sure: bool
    count: int = 0
    at_start: int = 0
    aliases: list[Json] = field(default_factory=list[Json])


def _names_in(line: Line, reading: Reading, names: dict[str, _Name]) -> None:
    # German writes every noun with a capital, so there one capital word says nothing.
    one_is_enough = reading.grammar.language != "de"
    for it in _NAME.finditer(line.text):
        words, start = it[1], line.span.start + it.start()
        if it.start() == 0:
            first, _, rest = words.partition(" ")
            if first.lower() in reading.grammar.stopwords:
                words, start = rest, start + len(first) + 1
        several = " " in words or bool(_ACRONYM.fullmatch(words))
        if len(words) < 2 or not (several or one_is_enough):
            continue
        if words.lower() in reading.grammar.kinds_by_cue or _is_numbered(line.text, it):
            continue
        name = names.setdefault(words, _Name(words, line, start, several and it.start() > 0))
        name.count += 1
        name.at_start += it.start() == 0 and words == it[1]
        if it[2] and it[2] not in name.aliases:
            name.aliases.append(it[2])


def _is_numbered(text: str, match: re.Match[str]) -> bool:
    """`Section 2` and `30 June` name a place in a count, not a thing."""
    before, after = text[: match.start()].rstrip()[-1:], text[match.end() :].lstrip()[:1]
    return " " not in match[1] and (before.isdecimal() or after.isdecimal())


def _entity(name: _Name) -> Candidate:
    kind = "acronym" if _ACRONYM.fullmatch(name.name) else "name"
    fields: dict[str, Json] = {"name": name.name, "type": kind, "description": name.line.text}
    if name.aliases:
        fields["aliases"] = name.aliases
    place = Span(name.start, name.start + len(name.name))
    named = Line(name.name, place, name.line.block, False, False, name.line.part)
    return Candidate("entities", name.name, fields, (named,))


def _defined(line: Line, reading: Reading) -> str:
    if line.block.shape is Shape.ITEM and line.opens_block and line.tells:
        glossary = _GLOSSARY.match(line.text)
        if glossary:
            return trim(glossary[1])
    if not line.tells or Kind.DEFINITION not in line.own:
        return ""
    cue = line.cues[0]
    if Kind.DEFINITION not in cue.kinds:
        return ""
    label = trim(line.text[: cue.start - line.span.start])
    words = label.split()
    if not words or len(words) > LONGEST_LABEL_WORDS or "," in label:
        return ""
    if words[0].lower() in reading.grammar.stopwords:
        if words[0].lower() in reading.grammar.anaphora or len(words) == 1:
            return ""
        label = label[len(words[0]) :]
    return label.strip(" \"'“”‘’«»*_`")


def _depend(found: list[Candidate]) -> None:
    """A definition that uses another label depends on it."""
    by_label = {str(it.fields["label"]).lower(): it for it in found}
    if len(by_label) < 2:
        return
    pattern = re.compile(rf"(?<!\w){trie(by_label)}(?!\w)")
    for it in found:
        for match in pattern.finditer(it.lines[0].text.lower()):
            other = by_label.get(match[0])
            if other:
                it.link("depends_on", other)


_NAME = re.compile(
    r"(?<![\w.-])((?:[A-ZÀ-ÖØ-Þ][\w&'’-]*)(?:[ ](?:(?:of|the|for|de|da|do|del|la|des|du)[ ])?"
    r"[A-ZÀ-ÖØ-Þ][\w&'’-]*){0,3})(?:\s\(([A-Z][A-Z0-9]{1,7})\))?"
)
_ACRONYM = re.compile(r"[A-Z][A-Z0-9-]{1,9}")
_GLOSSARY = re.compile(r"[*_`]{0,2}([^:*_`\n]{2,48})[*_`]{0,2}:[*_`]{0,2}\s")
