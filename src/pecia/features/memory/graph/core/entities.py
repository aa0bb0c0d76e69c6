"""Extracts entities and relations from a text. Pure: rules, no model."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from hashlib import sha256

from pecia.features.memory.core.tags import FRAMEWORKS, LANGUAGES, TOOLS, extract_tags

MAX_ENTITIES = 200
# Pairs are compared, which is quadratic.
MAX_ENTITIES_PER_SENTENCE = 10
MAX_SENTENCE_CHARS = 1_000
SURE, LIKELY, MAYBE = 0.9, 0.8, 0.6
MAX_SLUG_CHARS = 150
# Case-sensitive kinds.
_EXACT = frozenset(("File", "URL", "Function", "Class"))


@dataclass(frozen=True, slots=True)
class Entity:
    name: str
    type: str
    confidence: float

    @property
    def id(self) -> str:
        """One id per name. Punctuation, and case in paths, URLs and code, distinguish names: where
        the readable part loses them, a digest of the name follows it."""
        plain = re.sub(r"[^a-z0-9]+", "_", self.name.lower()).strip("_")[:MAX_SLUG_CHARS]
        exact = self.name if self.type in _EXACT else self.name.lower()
        if plain == exact.replace(" ", "_"):
            return f"entity_{plain}"
        return f"entity_{plain}_{sha256(exact.encode()).hexdigest()[:12]}"


@dataclass(frozen=True, slots=True)
class Relation:
    start: Entity
    type: str
    end: Entity


_KINDS = (
    (
        "File",
        SURE,
        re.compile(
            # No path segment is longer; without the bounds, dots and dashes make it quadratic.
            r"(?<![\w/])(?:[\w.-]{1,255}/){1,64}[\w-]{1,255}\.\w{1,8}\b|\b[\w-]{1,255}\.(?:py|ts|js|go|rs|java|sql|md|json|ya?ml)\b"
        ),
    ),
    ("URL", SURE, re.compile(r"https?://[^\s<>\"')]+[^\s<>\"').,;]")),
    ("Function", LIKELY, re.compile(r"\b[a-z_]\w*(?=\(\))")),
    ("Class", LIKELY, re.compile(r"\b[A-Z][a-z0-9]+(?:[A-Z][a-z0-9]+)+\b")),
    ("Person", LIKELY, re.compile(r"(?<![\w.])@([A-Za-z][\w-]{1,38})\b")),
)
_NAME = re.compile(r"(?<![.!?]\s)(?<!^)\b([A-Z][a-z]+(?:\s+[A-Z][a-z]+){0,3})\b")
_RELATIONS = (
    ("USES", r"(?:uses?|using|is built (?:with|on)|runs on)"),
    ("DEPENDS_ON", r"(?:depends? on|requires?|needs)"),
    ("CALLS", r"(?:calls?|invokes?)"),
    ("PART_OF", r"(?:is (?:a )?part of|belongs to|is in)"),
    ("IMPLEMENTS", r"(?:implements?|extends|inherits from)"),
    ("REPLACES", r"(?:replaces?|replaced)"),
    ("OWNS", r"(?:owns|maintains)"),
    ("CONTAINS", r"(?:contains?|defines?|has)"),
)
_TECHNOLOGY = frozenset((*LANGUAGES, *FRAMEWORKS, *TOOLS))


def extract_entities(text: str, types: Sequence[str] = ()) -> list[Entity]:
    """The entities, deduplicated, in order of kind and position."""
    found: dict[str, Entity] = {}
    for it in _match_all(text):
        if not types or it.type.casefold() in {t.casefold() for t in types}:
            found.setdefault(it.id, it)
    return [*found.values()][:MAX_ENTITIES]


def extract_relations(
    text: str, entities: Sequence[Entity], types: Sequence[str] = ()
) -> list[Relation]:
    """Relations between two entities of a sentence with one verb between them."""
    found: dict[tuple[str, str, str], Relation] = {}
    for sentence in re.split(r"(?<=[.!?])\s+|\n", text):
        sentence = sentence[:MAX_SENTENCE_CHARS]
        low = sentence.casefold()
        held = [it for it in entities if it.name.casefold() in low][:MAX_ENTITIES_PER_SENTENCE]
        for one in held:
            for other in held:
                if one is not other and (verb := _verb(sentence, one, other, types)):
                    found.setdefault((one.id, verb, other.id), Relation(one, verb, other))
    return [*found.values()][:MAX_ENTITIES]


def _match_all(text: str) -> Iterator[Entity]:
    for kind, confidence, pattern in _KINDS:
        for it in pattern.finditer(text):
            yield Entity(it[it.lastindex or 0], kind, confidence)
    for tag in extract_tags(text):
        if tag in _TECHNOLOGY:
            yield Entity(tag, "Technology", SURE)
    for it in _NAME.finditer(text):
        if it[1].casefold() not in _TECHNOLOGY:
            yield Entity(it[1], "Concept", MAYBE)


def _verb(sentence: str, one: Entity, other: Entity, types: Sequence[str]) -> str | None:
    wanted = {it.upper() for it in types}
    for name, words in _RELATIONS:
        if wanted and name not in wanted:
            continue
        some = r"\W+(?:\w+\W+){0,2}?"
        between = f"{re.escape(one.name)}{some}{words}{some}{re.escape(other.name)}"
        if re.search(between, sentence, re.IGNORECASE):
            return name
    return None
