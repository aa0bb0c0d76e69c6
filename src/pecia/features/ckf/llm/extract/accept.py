"""Validates a model's answer into items, or refuses them with a reason. Pure.

The answer is untrusted: only known fields of the right type and a bounded size pass, and only
items with a quotation found in the source.
"""

import re
import unicodedata
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field

from pecia.features.ckf.llm.extract.form import list_asked_fields
from pecia.features.ckf.llm.item import ExtractedItem
from pecia.features.ckf.llm.prepare.segment import SourceChunk
from pecia.features.ckf.package.checks.trace import CONFIDENCE_BANDS
from pecia.features.ckf.package.field import FieldRole, FieldShape, PackageField, PackageSection
from pecia.features.ckf.package.fields import BASES, CORE_INTENT, ITEM_SECTIONS
from pecia.features.ckf.package.locate import SearchableText
from pecia.features.ckf.package.model import Item, number_of, text_of, texts_of
from pecia.kernel.errors import Json
from pecia.kernel.text.span import Span

MAX_ITEMS = 400
MAX_LIST_ENTRIES = 60
MAX_FIELD_CHARS = 4000
MAX_QUOTE_CHARS = 240
MAX_QUOTES = 3


class ItemRefused(Exception):
    """One item that cannot be used; the text is the reason, in one word."""


@dataclass(slots=True)
class AcceptedItems:
    """The usable items of one answer, and refusal counts by reason."""

    items: list[ExtractedItem] = field(default_factory=list[ExtractedItem])
    intent: Item = field(default_factory=dict[str, Json])
    subdomains: list[str] = field(default_factory=list[str])
    refused: Counter[str] = field(default_factory=Counter[str])


def accept_answer(answer: Item, text: str, chunk: SourceChunk) -> AcceptedItems:
    """The items of an answer about this chunk, in the order of the sections."""
    found = AcceptedItems()
    sought = SearchableText(chunk.span.of(text))
    for section, given in _iter_answer_items(answer):
        if len(found.items) >= MAX_ITEMS:
            found.refused["too_many"] += 1
            continue
        try:
            found.items.append(_item(section, given, sought, chunk.span.start))
        except ItemRefused as reason:
            found.refused[str(reason)] += 1
    found.intent = _intent(answer.get("core_intent"))
    named = answer.get("domain_map")
    if isinstance(named, dict):
        found.subdomains = _limit_names(texts_of(named, "subdomains"))
    return found


def _iter_answer_items(answer: Item) -> Iterator[tuple[PackageSection, Json]]:
    for section in ITEM_SECTIONS:
        items = answer.get(section.key)
        for it in items if isinstance(items, list) else []:
            yield section, it


def _item(
    section: PackageSection, given: Json, sought: SearchableText, start: int
) -> ExtractedItem:
    if not isinstance(given, dict):
        raise ItemRefused("not_an_object")
    fields = _record(list_asked_fields(section), given)
    if section.key == "procedures":
        fields["steps"] = _renumber_steps(fields["steps"])
    basis = text_of(given, "source_basis")
    basis = basis if basis in BASES else "inferred"
    # A model's items need a quotation, so none counts as synthesized.
    basis = "inferred" if basis == "synthesized" else basis
    made = ExtractedItem(section.key, fields, (), basis, _confidence(given, basis))
    quotes = [_quote(it, sought) for it in texts_of(given, "source_excerpts")[:MAX_LIST_ENTRIES]]
    located = [it for it in quotes if it] or [it for it in [_quote(made.words, sought)] if it]
    if not located:
        raise ItemRefused("no_quotation")
    made.quotes = tuple(
        dict.fromkeys(Span(it.start + start, it.end + start) for it in located[:MAX_QUOTES])
    )
    return made


def _quote(words: str, sought: SearchableText) -> Span | None:
    """The span of the quotation; of a long one, of its beginning."""
    if len(words) > MAX_FIELD_CHARS:
        return None
    found = sought.find(words.strip())
    if found is None or not found.span.of(sought.text).strip():
        return None
    span = found.span
    if span.size <= MAX_QUOTE_CHARS:
        return span
    cut = sought.text.rfind(" ", span.start + MAX_QUOTE_CHARS // 2, span.start + MAX_QUOTE_CHARS)
    return Span(span.start, cut if cut > 0 else span.start + MAX_QUOTE_CHARS)


def _confidence(given: Item, basis: str) -> float:
    """The model's confidence, clamped to the band of its basis."""
    low, high = CONFIDENCE_BANDS.get(basis, (0.25, 1.0))
    stated = number_of(given, "confidence")
    # NaN compares false with everything.
    sure = stated if stated is not None and 0 <= stated <= 1 else (low + high) / 2
    return round(min(max(sure, low), high), 2)


def _record(fields: tuple[PackageField, ...], given: Item) -> Item:
    made: Item = {}
    for it in fields:
        value = _value(it, given.get(it.name))
        if value not in (None, "", []):
            made[it.name] = value
        elif it.required:
            if it.name != "type":
                raise ItemRefused("incomplete")
            # A type may be left out; content may not.
            made[it.name] = "fact" if it.role is FieldRole.CHOICE else "thing"
    return made


def _value(field: PackageField, value: Json) -> Json:
    match field.shape:
        case FieldShape.TEXT:
            return _text(field, value)
        case FieldShape.TEXTS:
            return _texts(value)
        case FieldShape.RECORDS | FieldShape.TEXTS_OR_RECORDS:
            return _records(field, value)
        case FieldShape.INTEGER:
            return value if isinstance(value, int) and not isinstance(value, bool) else None
        case _:
            return None


def _text(field: PackageField, value: Json) -> str:
    text = clean_text(value) if isinstance(value, str) else ""
    if field.role is FieldRole.CHOICE and text not in field.choices:
        return ""
    return text


def _texts(value: Json) -> list[Json]:
    values = [value] if isinstance(value, str) else value if isinstance(value, list) else []
    if len(values) > MAX_LIST_ENTRIES:
        raise ItemRefused("too_long")
    cleaned_texts = (clean_text(it) for it in values if isinstance(it, str))
    return [it for it in dict.fromkeys(cleaned_texts) if it]


def _records(field: PackageField, value: Json) -> list[Json]:
    values = value if isinstance(value, list) else []
    if len(values) > MAX_LIST_ENTRIES:
        raise ItemRefused("too_long")
    made: list[Json] = []
    for it in values:
        if isinstance(it, dict):
            made.append(_record(field.parts, it))
        elif isinstance(it, str) and field.shape is FieldShape.TEXTS_OR_RECORDS and clean_text(it):
            made.append({"action": clean_text(it)})
    return made


def _renumber_steps(steps: Json) -> list[Json]:
    """Renumber steps from 1 without gaps."""
    values = steps if isinstance(steps, list) else []
    return [
        {**it, "step": number}
        for number, it in enumerate((it for it in values if isinstance(it, dict)), start=1)
    ]


def _intent(given: Json) -> Item:
    if not isinstance(given, dict):
        return {}
    found = {it.name: clean_text(text_of(given, it.name), refuse=False) for it in CORE_INTENT}
    return {name: it for name, it in found.items() if it}


def _limit_names(names: list[str]) -> list[str]:
    found = [clean_text(it, refuse=False) for it in names[:MAX_LIST_ENTRIES]]
    return [it for it in found if it and len(it) <= 120]


def clean_text(text: str, *, refuse: bool = True) -> str:
    """One line in NFC; too long is refused, never cut."""
    if len(text) > MAX_FIELD_CHARS:
        if refuse:
            raise ItemRefused("too_long")
        return ""
    # A lone surrogate is valid in JSON but not in text.
    sound = _CONTROL.sub(" ", text.encode("utf-8", "replace").decode("utf-8"))
    return " ".join(unicodedata.normalize("NFC", sound).split())


_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\ufeff]")
