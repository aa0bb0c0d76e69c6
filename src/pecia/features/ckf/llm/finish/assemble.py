"""Assembles items into a package: ids, quotations, trace rows, resolved references. Pure."""

from collections.abc import Iterable
from dataclasses import dataclass

from pecia.features.ckf.llm.item import ExtractedItem
from pecia.features.ckf.llm.prepare.segment import SourceSegments
from pecia.features.ckf.package.field import FieldRole, PackageField
from pecia.features.ckf.package.fields import ANY, ITEM_SECTIONS, RULE_SECTIONS, SECTION_BY_KEY
from pecia.features.ckf.package.ids import make_id
from pecia.features.ckf.package.model import Item, text_of, texts_of
from pecia.features.ckf.package.similarity import jaccard, normalize_words, word_set
from pecia.kernel.errors import Json
from pecia.kernel.text.span import Span

MAX_ID_CHARS = 120
# Minimum word overlap that ties an exception to a rule.
SAME_RULE_SIMILARITY = 0.5
RELATED_SIMILARITY = 0.7


@dataclass(slots=True)
class AssembledBody:
    """The sections, and the number of unresolved references."""

    body: Item
    unresolved: int = 0


def assemble_items(
    body: Item, items: Iterable[ExtractedItem], segments: SourceSegments
) -> AssembledBody:
    """Write every item and its rows into the body."""
    order = {it.key: at for at, it in enumerate(ITEM_SECTIONS)}
    known = sorted(items, key=lambda it: order[it.section])
    made = AssembledBody(body)
    names = _ItemNames(known)
    for it in known:
        item = _item(it, names, made, segments)
        _list(body, it.section).append(item)
        _list(body, "source_traceability").extend(_rows(item, it.quotes, segments))
    return made


class _ItemNames:
    """Ids of all items, and lookup by name."""

    def __init__(self, items: list[ExtractedItem]) -> None:
        self.id_of: dict[int, str] = {}
        self._by_old_id: dict[str, str] = {}
        self._by_name: dict[tuple[str, str], str] = {}
        self._rules: list[tuple[frozenset[str], str]] = []
        taken: set[str] = set()
        for it in items:
            name = make_id(it.section, it.words[:MAX_ID_CHARS], taken)
            taken.add(name)
            self.id_of[id(it)] = name
            if it.old_id:
                self._by_old_id.setdefault(it.old_id, name)
            for label in ("name", "label", "aliases"):
                for text in texts_of(it.fields, label):
                    self._by_name.setdefault((it.section, normalize_words(text)), name)
            if it.section in RULE_SECTIONS and it.section != "exceptions":
                self._rules.append((word_set(it.words), name))

    def resolve(self, field: PackageField, text: str) -> str:
        """The referenced id, or an empty string."""
        if found := self._by_old_id.get(text):
            return found
        targets = [it for it in field.targets if it != ANY]
        words = normalize_words(text)
        return next((self._by_name.get((it, words), "") for it in targets), "")

    def rule_like(self, text: str) -> str:
        words = word_set(text)
        scored = [(jaccard(words, known), name) for known, name in self._rules]
        score, name = max(scored, default=(0.0, ""))
        return name if score >= SAME_RULE_SIMILARITY else ""


def _item(
    found: ExtractedItem, names: _ItemNames, made: AssembledBody, segments: SourceSegments
) -> Item:
    section = SECTION_BY_KEY[found.section]
    item: Item = {"id": names.id_of[id(found)]}
    for it in section.fields:
        if it.name in found.fields:
            value = _value(it, found.fields[it.name], names, made)
            if value not in (None, []):
                item[it.name] = value
    if found.section == "entities":
        _resolve_relations(item, names, made)
    if found.section == "exceptions" and "modifies" not in item:
        rule = names.rule_like(text_of(item, "general_rule"))
        if rule:
            item["modifies"] = [rule]
    item["source_basis"] = found.basis
    item["confidence"] = found.confidence
    refs = (segments.part_at(it.start).ref for it in found.quotes)
    item["source_refs"] = list[Json](dict.fromkeys(refs))
    quoted = (it.of(segments.text) for it in found.quotes)
    item["source_excerpts"] = list[Json](dict.fromkeys(quoted))
    return {it.name: item[it.name] for it in section.fields if it.name in item}


def _value(field: PackageField, value: Json, names: _ItemNames, made: AssembledBody) -> Json:
    if field.role is FieldRole.REFERENCE:
        values = value if isinstance(value, list) else [value]
        found = [names.resolve(field, it) for it in values if isinstance(it, str)]
        made.unresolved += sum(not it for it in found)
        ids = list[Json](dict.fromkeys(it for it in found if it))
        return ids if isinstance(value, list) else next(iter(ids), None)
    if isinstance(value, list) and any(it.role is FieldRole.REFERENCE for it in field.parts):
        return _resolve_records(field, value, names, made)
    return value


def _resolve_records(
    field: PackageField, records: list[Json], names: _ItemNames, made: AssembledBody
) -> list[Json]:
    """Records that refer to an item; unresolved ones are dropped."""
    found: list[Json] = []
    for it in records:
        if not isinstance(it, dict):
            continue
        changed = {
            part.name: _value(part, it[part.name], names, made)
            for part in field.parts
            if part.name in it
        }
        if all(value is not None for value in changed.values()):
            found.append({**changed})
    return found


def _resolve_relations(item: Item, names: _ItemNames, made: AssembledBody) -> None:
    """Resolve relations from name to id; an unknown name stays a name."""
    related = item.pop("related", None)
    target = PackageField("entity_id", FieldRole.REFERENCE, targets=("entities",))
    by_id = item.get("related_entities")
    linked: list[Json] = list(by_id) if isinstance(by_id, list) else []
    kept: list[Json] = []
    for it in related if isinstance(related, list) else []:
        if not isinstance(it, dict):
            continue
        other = names.resolve(target, text_of(it, "name"))
        if other and other != item["id"]:
            verb = text_of(it, "relation")
            linked.append(
                {"entity_id": other, "relation_type": verb, "confidence": RELATED_SIMILARITY}
            )
        elif not other:
            made.unresolved += 1
            kept.append(it)
    if linked:
        item["related_entities"] = linked
    if kept:
        item["related"] = kept


def _rows(item: Item, quotes: tuple[Span, ...], segments: SourceSegments) -> Iterable[Item]:
    for it in quotes:
        first, last = segments.line_at(it.start), segments.line_at(it.end - 1)
        yield {
            "extracted_item_id": item["id"],
            "source_location": f"{segments.part_at(it.start).ref}#L{first}-L{last}",
            "source_excerpt": it.of(segments.text),
            "extraction_type": item["source_basis"],
            "source_char_start": it.start,
            "source_char_end": it.end,
        }


def _list(body: Item, section: str) -> list[Json]:
    found = body[section]
    assert isinstance(found, list), f"{section} is no list"
    return found
