"""What a model answered, made into items, or refused with a reason. Pure.

The answer is somebody's text: only known fields of the right kind and a bounded size pass, and only
items with a quotation that stands in the source.
"""

import re
import unicodedata
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field

from pecia.kernel.errors import Json
from pecia.kernel.text.span import Span
from pecia.rooms.ckf.llm.form import asked_fields
from pecia.rooms.ckf.llm.found import Found
from pecia.rooms.ckf.llm.segment import Chunk
from pecia.rooms.ckf.package.check_trace import BANDS
from pecia.rooms.ckf.package.field import Field, Role, Section, Shape
from pecia.rooms.ckf.package.fields import BASES, CORE_INTENT, ITEM_SECTIONS
from pecia.rooms.ckf.package.locate import Sought
from pecia.rooms.ckf.package.model import Item, number_of, text_of, texts_of

MOST_ITEMS = 400
MOST_LISTED = 60
LONGEST_TEXT = 4000
LONGEST_QUOTE = 240
MOST_QUOTES = 3


class Refused(Exception):
    """One item that cannot be used; the text is the reason, in one word."""


@dataclass(slots=True)
class Accepted:
    """What could be used of one answer, and how often something could not, by reason."""

    items: list[Found] = field(default_factory=list[Found])
    intent: Item = field(default_factory=dict[str, Json])
    subdomains: list[str] = field(default_factory=list[str])
    refused: Counter[str] = field(default_factory=Counter[str])


def accept(answer: Item, text: str, chunk: Chunk) -> Accepted:
    """The items of an answer about this chunk, in the order of the sections."""
    found = Accepted()
    sought = Sought(chunk.span.of(text))
    for section, given in _given(answer):
        if len(found.items) >= MOST_ITEMS:
            found.refused["too_many"] += 1
            continue
        try:
            found.items.append(_item(section, given, sought, chunk.span.start))
        except Refused as reason:
            found.refused[str(reason)] += 1
    found.intent = _intent(answer.get("core_intent"))
    named = answer.get("domain_map")
    if isinstance(named, dict):
        found.subdomains = _short(texts_of(named, "subdomains"))
    return found


def _given(answer: Item) -> Iterator[tuple[Section, Json]]:
    for section in ITEM_SECTIONS:
        items = answer.get(section.key)
        for it in items if isinstance(items, list) else []:
            yield section, it


def _item(section: Section, given: Json, sought: Sought, start: int) -> Found:
    if not isinstance(given, dict):
        raise Refused("not_an_object")
    fields = _record(asked_fields(section), given)
    if section.key == "procedures":
        fields["steps"] = _numbered(fields["steps"])
    basis = text_of(given, "source_basis")
    basis = basis if basis in BASES else "inferred"
    # What the model made up itself has no place among what the source says.
    basis = "inferred" if basis == "synthesized" else basis
    made = Found(section.key, fields, (), basis, _confidence(given, basis))
    quotes = [_quote(it, sought) for it in texts_of(given, "source_excerpts")[:MOST_LISTED]]
    located = [it for it in quotes if it] or [it for it in [_quote(made.words, sought)] if it]
    if not located:
        raise Refused("no_quotation")
    made.quotes = tuple(
        dict.fromkeys(Span(it.start + start, it.end + start) for it in located[:MOST_QUOTES])
    )
    return made


def _quote(words: str, sought: Sought) -> Span | None:
    """Where the words stand; of a long quotation, where its beginning stands."""
    if len(words) > LONGEST_TEXT:
        return None
    found = sought.find(words.strip())
    if found is None or not found.span.of(sought.text).strip():
        return None
    span = found.span
    if span.size <= LONGEST_QUOTE:
        return span
    cut = sought.text.rfind(" ", span.start + LONGEST_QUOTE // 2, span.start + LONGEST_QUOTE)
    return Span(span.start, cut if cut > 0 else span.start + LONGEST_QUOTE)


def _confidence(given: Item, basis: str) -> float:
    """As the model said, within what its basis allows."""
    low, high = BANDS.get(basis, (0.25, 1.0))
    said = number_of(given, "confidence")
    # A number that is none compares false with everything.
    sure = said if said is not None and 0 <= said <= 1 else (low + high) / 2
    return round(min(max(sure, low), high), 2)


def _record(fields: tuple[Field, ...], given: Item) -> Item:
    made: Item = {}
    for it in fields:
        value = _value(it, given.get(it.name))
        if value not in (None, "", []):
            made[it.name] = value
        elif it.required:
            if it.name != "type":
                raise Refused("incomplete")
            # What kind of thing it is can be left open; what it says cannot.
            made[it.name] = "fact" if it.role is Role.CHOICE else "thing"
    return made


def _value(field: Field, value: Json) -> Json:
    match field.shape:
        case Shape.TEXT:
            return _text(field, value)
        case Shape.TEXTS:
            return _texts(value)
        case Shape.RECORDS | Shape.TEXTS_OR_RECORDS:
            return _records(field, value)
        case Shape.INTEGER:
            return value if isinstance(value, int) and not isinstance(value, bool) else None
        case _:
            return None


def _text(field: Field, value: Json) -> str:
    text = cleaned(value) if isinstance(value, str) else ""
    if field.role is Role.CHOICE and text not in field.choices:
        return ""
    return text


def _texts(value: Json) -> list[Json]:
    given = [value] if isinstance(value, str) else value if isinstance(value, list) else []
    if len(given) > MOST_LISTED:
        raise Refused("too_long")
    cleaned_texts = (cleaned(it) for it in given if isinstance(it, str))
    return [it for it in dict.fromkeys(cleaned_texts) if it]


def _records(field: Field, value: Json) -> list[Json]:
    given = value if isinstance(value, list) else []
    if len(given) > MOST_LISTED:
        raise Refused("too_long")
    made: list[Json] = []
    for it in given:
        if isinstance(it, dict):
            made.append(_record(field.parts, it))
        elif isinstance(it, str) and field.shape is Shape.TEXTS_OR_RECORDS and cleaned(it):
            made.append({"action": cleaned(it)})
    return made


def _numbered(steps: Json) -> list[Json]:
    """Steps count from one without gaps, whatever numbers they came with."""
    given = steps if isinstance(steps, list) else []
    return [
        {**it, "step": number}
        for number, it in enumerate((it for it in given if isinstance(it, dict)), start=1)
    ]


def _intent(given: Json) -> Item:
    if not isinstance(given, dict):
        return {}
    found = {it.name: cleaned(text_of(given, it.name), refuse=False) for it in CORE_INTENT}
    return {name: it for name, it in found.items() if it}


def _short(names: list[str]) -> list[str]:
    found = [cleaned(it, refuse=False) for it in names[:MOST_LISTED]]
    return [it for it in found if it and len(it) <= 120]


def cleaned(text: str, *, refuse: bool = True) -> str:
    """One line of composed characters; what is too long is refused, never cut."""
    if len(text) > LONGEST_TEXT:
        if refuse:
            raise Refused("too_long")
        return ""
    # A lone surrogate is valid in JSON and in no text.
    sound = _CONTROL.sub(" ", text.encode("utf-8", "replace").decode("utf-8"))
    return " ".join(unicodedata.normalize("NFC", sound).split())


_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\ufeff]")
