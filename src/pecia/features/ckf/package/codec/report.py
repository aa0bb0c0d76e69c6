"""Reads the report form of a package: Markdown for people, without blocks. Lossy, so never written.

An item is a heading of the third level with text below it, or a bullet. It ends in a trace tag,
`_[id | basis | c=0.95 | s_001, s_002]_`.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from pecia.features.ckf.package.codec.yaml_reader import DecodedMapping
from pecia.features.ckf.package.field import PackageSection, SectionKind
from pecia.features.ckf.package.fields import BASES, SECTIONS
from pecia.features.ckf.package.model import Item
from pecia.kernel.errors import Json

LOSSY_WARNING = "read from the report form, which leaves most fields out"


def is_report(text: str) -> bool:
    return bool(_HEADING.search(text))


def decode_report(text: str) -> DecodedMapping:
    body: Item = {}
    if title := re.search(r"^# (.+)$", text, re.MULTILINE):
        body["metadata"] = {"source_title": title[1].strip()}
    for section, lines in _parts(text):
        if section.key == "source_traceability":
            body[section.key] = [_trace_row(it) for it in _entries(lines)]
        elif section.kind is SectionKind.ARRAY:
            body[section.key] = [_item(section, it) for it in _entries(lines)]
        else:
            body[section.key] = _object(section, lines)
    return DecodedMapping(body, (LOSSY_WARNING,))


@dataclass(frozen=True, slots=True)
class _Entry:
    """A heading or bullet with the lines that belong to it."""

    head: str
    body: tuple[str, ...]


def _parts(text: str) -> Iterator[tuple[PackageSection, list[str]]]:
    headings = list(_HEADING.finditer(text))
    for number, it in enumerate(headings):
        end = headings[number + 1].start() if number + 1 < len(headings) else len(text)
        if section := _BY_TITLE.get(it[1].strip().lower()):
            yield section, text[it.end() : end].splitlines()


def _entries(lines: list[str]) -> Iterator[_Entry]:
    head, body = "", list[str]()
    under_heading = False
    for line in lines:
        start = _START.match(line)
        # Under a heading, bullets are part of the item.
        if start and (start[1] == "### " or not under_heading):
            if head:
                yield _Entry(head, tuple(body))
            head, body, under_heading = start[2].strip(), [], start[1] == "### "
        elif line.strip():
            body.append(line.strip())
    if head:
        yield _Entry(head, tuple(body))


def _item(section: PackageSection, entry: _Entry) -> Item:
    whole = entry.head if section.key != "qa_pairs" else " ".join((entry.head, *entry.body))
    text, trace = _split_tag(whole)
    body = list(entry.body)
    if not trace and body:
        body[-1], trace = _split_tag(body[-1])
    fields = _FIELDS[section.key].fullmatch(text) if section.key in _FIELDS else None
    found: Item = {name: it.strip() for name, it in fields.groupdict("").items()} if fields else {}
    if not fields:
        found = {section.identity[0]: text}
    return {**trace, **found, **_below(section, body)}


def _below(section: PackageSection, lines: list[str]) -> Item:
    """Parse the lines under a heading: named lists, numbered steps, and one text."""
    found: Item = {}
    steps: list[Json] = [it[1] for line in lines if (it := _STEP.fullmatch(line))]
    if steps and section.find_field("steps"):
        found["steps"] = steps
    prose: list[str] = []
    for line in lines:
        if named := _NAMED.fullmatch(line):
            found.update(_named_field(section, named[1].lower(), named[2]))
        elif not _STEP.fullmatch(line):
            prose.append(line)
    name = _BODIES.get(section.key)
    if name and prose:
        found[name] = " ".join(prose)
    return found


def _named_field(section: PackageSection, name: str, text: str) -> Item:
    if name == "relations":
        pairs = (_RELATION.fullmatch(it.strip()) for it in text.split(","))
        return {"related": [{"name": it[2], "relation": it[1]} for it in pairs if it]}
    field = section.find_field(name)
    if not field:
        return {}
    return {name: _commas(text) if name == "aliases" else text}


def _object(section: PackageSection, lines: list[str]) -> Item:
    found: Item = {}
    name = ""
    for line in lines:
        if named := _BOLD.fullmatch(line.strip()):
            name = named[1].strip().rstrip(":").lower().replace(" ", "_")
            name = _SHORT_NAMES.get(name, name)
            if named[2]:
                found[name] = _commas(named[2]) if name.endswith("domains") else named[2]
        elif name and line.lstrip().startswith("- "):
            items = found.setdefault(name, [])
            if isinstance(items, list):
                items.append(line.lstrip()[2:].strip())
    return found


def _trace_row(entry: _Entry) -> Item:
    name, _, location = entry.head.partition(" — ")
    quotes = [it.removeprefix(">").strip() for it in entry.body if it.startswith(">")]
    return {
        "extracted_item_id": name.strip("`* "),
        "source_location": location.strip(),
        "source_excerpt": " ".join(quotes),
        "extraction_type": "uncertain",
    }


def _split_tag(text: str) -> tuple[str, Item]:
    tag = _TAG.search(text)
    if not tag:
        return text, {}
    found: Item = {}
    for number, part in enumerate(it.strip() for it in tag[1].split("|")):
        if part in BASES:
            found["source_basis"] = part
        elif sure := _SURE.fullmatch(part):
            found["confidence"] = float(sure[1])
        elif number == 0:
            found["id"] = part
        elif part:
            found["source_refs"] = _commas(part)
    return text[: tag.start()].rstrip(), found


def _commas(text: str) -> list[Json]:
    return [it.strip() for it in text.split(",") if it.strip()]


_HEADING = re.compile(r"^## \d+\. (.+?)(?: \(\d+\))?[ \t]*$", re.MULTILINE)
_START = re.compile(r"(### |- )(.+)")
_TAG = re.compile(r"_\[([A-Za-z]+_\w+(?: *\|[^\]]*)?)\]_$")
_SURE = re.compile(r"c *= *(\d(?:\.\d+)?)")
_STEP = re.compile(r"\d+\. (.+)")
_NAMED = re.compile(r"_(\w+):_ *(.+)")
_RELATION = re.compile(r"(.+?) *-> *\*\*(.+?)\*\*")
_BOLD = re.compile(r"\*\*(.+?)\*\* *(.*)")
_SHORT_NAMES = {"adjacent": "adjacent_domains", "excluded": "excluded_domains"}
_RULE = r"IF (?P<{}>.+?) THEN (?P<{}>.+?)(?: _\((?P<{}>.+)\)_)?"
_FIELDS = {
    key: re.compile(pattern)
    for key, pattern in {
        "entities": r"(?P<name>.+?) _\((?P<type>.+?)\)_",
        "heuristics": (
            r"\*\*When\*\* (?P<trigger>.+?) -> \*\*do\*\* (?P<recommended_action>.+?)"
            r"(?: \| _avoid:_ (?P<avoid>.+))?"
        ),
        "decision_rules": _RULE.format("condition", "decision", "reasoning"),
        "patterns": r"\*\*(?P<name>.+?)\*\*(?: [—-] (?P<observed_when>.+))?",
        "anti_patterns": (
            r"\*\*(?P<name>.+?)\*\* [—-] (?P<description>.+?)"
            r"(?: _\(fails because (?P<why_it_fails>.+)\)_)?"
        ),
        "causal_chains": r"(?P<cause>.+?) -> (?P<effect>.+?)(?: \((?P<mechanism>.+)\))?",
        "contextual_triggers": (
            r"_When_ `(?P<if_user_says_or_context_contains>.+?)` -> (?P<agent_should>.+)"
        ),
        "if_then_rules": _RULE.format("if", "then", "because"),
        "exceptions": r"_Rule:_ (?P<general_rule>.+?) \| _Exception:_ (?P<exception_case>.+)",
        "mental_models": r"\*\*(?P<name>.+?)\*\* [—-] (?P<description>.+)",
        "qa_pairs": r"\*\*Q:\*\* (?P<question>.+?) \*\*A:\*\* (?P<ideal_answer>.+)",
        "atomic_units": r"_\[(?P<type>\w+)\]_ (?P<statement>.+)",
    }.items()
}
_BODIES = {
    "entities": "description",
    "concepts": "definition",
    "retrieval_chunks": "compressed_knowledge",
}
_BY_TITLE = {
    title.lower(): it
    for it in SECTIONS
    for title in (it.title, it.key.replace("_", " "), *it.other_titles)
}
