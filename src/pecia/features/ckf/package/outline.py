"""A package in a few lines for a model: what it holds, its surest items, within a budget. Pure."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from pecia.features.ckf.package.field import FieldRole
from pecia.features.ckf.package.fields import SECTION_BY_KEY
from pecia.features.ckf.package.model import (
    Item,
    Package,
    integer_of,
    number_of,
    text_of,
    texts_of,
)
from pecia.features.ckf.package.seal import SEAL_FIELD
from pecia.features.ckf.package.walk import item_texts
from pecia.kernel.text.tokens import estimate_tokens

MAX_LINE_CHARS = 220
# A line costs this much more than its parts: what joins them may be counted differently.
LINE_TOKENS = 2
COUNT_TOKENS = 12


@dataclass(frozen=True, slots=True)
class OutlineGroup:
    """A heading of the outline. `turns`: lines it may add before the next group adds one.

    `atoms`: the types of atomic units that belong here.
    """

    title: str
    sections: tuple[str, ...]
    turns: int
    atoms: tuple[str, ...] = ()


# Rules and what changes them first: an agent that acts without an exception does harm.
GROUPS = (
    OutlineGroup(
        "Rules",
        ("principles", "heuristics", "decision_rules", "if_then_rules", "anti_patterns"),
        3,
        ("rule", "heuristic", "obligation", "prohibition", "exception"),
    ),
    OutlineGroup("Exceptions", ("exceptions",), 2),
    OutlineGroup("Definitions", ("concepts",), 2, ("definition",)),
    OutlineGroup("Procedures", ("procedures", "playbooks"), 1),
    OutlineGroup("Questions answered", ("qa_pairs",), 1),
    OutlineGroup(
        "Facts",
        ("patterns", "causal_chains", "mental_models"),
        1,
        ("fact", "claim", "numeric_fact", ""),
    ),
)


@dataclass(frozen=True, slots=True)
class _OutlineLine:
    text: str
    start: int
    confidence: float
    is_possible: bool


def render_outline(
    package: Package, head: str, foot: str, max_tokens: int, source_chars: int = 0
) -> str:
    """The outline between `head` and `foot`. Those two are never cut."""
    groups = _group_lines(package)
    summary = _summary(package, groups, source_chars)
    left = max_tokens - sum(estimate_tokens(it) + LINE_TOKENS for it in (head, summary, foot))
    chosen = _choose([lines for _, lines in groups], left)
    parts = [head, summary]
    for (group, lines), kept in zip(groups, chosen, strict=True):
        if kept:
            total = sum(not it.is_possible for it in lines) or len(lines)
            parts.append(_render_group(group.title, kept, total))
    return "\n\n".join([*parts, foot])


def select_sections(package: Package, names: Iterable[str]) -> Package:
    """Only these sections, their trace rows, and the metadata."""
    wanted = {"metadata", *names}
    body: Item = {key: it for key, it in package.body.items() if key in wanted}
    # The seal is the whole package's.
    body["metadata"] = {key: it for key, it in package.metadata.items() if key != SEAL_FIELD}
    ids = {text_of(it, "id") for key in wanted for it in package.items(key)} - {""}
    rows = [it for it in package.trace if text_of(it, "extracted_item_id") in ids]
    if rows and "source_traceability" not in wanted:
        body["source_traceability"] = [*rows]
    return Package(body)


def _group_lines(package: Package) -> list[tuple[OutlineGroup, list[_OutlineLine]]]:
    found = [(it, _lines(package, it)) for it in GROUPS]
    # Facts repeat the sentences of the other sections.
    said = {it.start for _, lines in found[:-1] for it in lines if not it.is_possible} - {-1}
    facts, lines = found[-1]
    return [*found[:-1], (facts, [it for it in lines if it.start not in said])]


def _lines(package: Package, group: OutlineGroup) -> list[_OutlineLine]:
    """One line per quoted sentence, the surest first; items only possible come last."""
    rows: dict[str, Item] = {}
    for row in package.trace:
        # The last: an exception quotes its rule before itself.
        rows[text_of(row, "extracted_item_id")] = row
    found: dict[object, _OutlineLine] = {}
    for section in (*group.sections, "atomic_units"):
        for item in package.items(section):
            if section == "atomic_units" and text_of(item, "type") not in group.atoms:
                continue
            line = _line(section, item, rows.get(text_of(item, "id"), {}))
            place = line.start if line.start >= 0 else line.text
            known = found.get(place)
            if line.text and (known is None or _rank(line) < _rank(known)):
                found[place] = line
    return sorted(found.values(), key=_rank)


def _rank(line: _OutlineLine) -> tuple[bool, float, int]:
    return line.is_possible, -line.confidence, line.start


def _line(section: str, item: Item, row: Item) -> _OutlineLine:
    start = integer_of(row, "source_char_start")
    words = text_of(row, "source_excerpt") or next(iter(texts_of(item, "source_excerpts")), "")
    make = _TEXTS.get(section)
    text = make(item, words) if make else words or _own_words(section, item)
    return _OutlineLine(
        _cut(" ".join(text.split())),
        -1 if start is None else start,
        number_of(item, "confidence") or 0.0,
        text_of(item, "source_basis") == "uncertain",
    )


def _own_words(section: str, item: Item) -> str:
    fields = SECTION_BY_KEY[section].fields
    return "; ".join(
        item_texts(fields, item, FieldRole.LABEL, FieldRole.CLAUSE, FieldRole.PROSE)[:2]
    )


def _concept(item: Item, words: str) -> str:
    label, meaning = text_of(item, "label"), text_of(item, "definition") or words
    return meaning if label.lower() in meaning.lower() else f"{label}: {meaning}"


def _procedure(item: Item, words: str) -> str:
    steps = item.get("steps")
    count = len(steps) if isinstance(steps, list) else 0
    return f"{text_of(item, 'name') or words} ({count} steps)"


def _question(item: Item, words: str) -> str:
    return text_of(item, "question") or words


_TEXTS: dict[str, Callable[[Item, str], str]] = {
    "concepts": _concept,
    "procedures": _procedure,
    "playbooks": _procedure,
    "qa_pairs": _question,
}


def _cut(text: str) -> str:
    if len(text) <= MAX_LINE_CHARS:
        return text
    end = text.rfind(" ", MAX_LINE_CHARS // 2, MAX_LINE_CHARS)
    return f"{text[: end if end > 0 else MAX_LINE_CHARS]} …"


def _choose(groups: list[list[_OutlineLine]], budget: int) -> list[list[_OutlineLine]]:
    """As many lines as fit, each group in its turn, so that none starves the others."""
    chosen: list[list[_OutlineLine]] = [[] for _ in groups]
    sure = [[it for it in lines if not it.is_possible] for lines in groups]
    waiting = [iter(it) for it in (sure if any(sure) else groups)]
    open_groups = {*range(len(groups))}
    budget -= COUNT_TOKENS * sum(1 for it in groups if it)
    while open_groups:
        for number in sorted(open_groups):
            for _ in range(GROUPS[number].turns):
                line = next(waiting[number], None)
                cost = estimate_tokens(_render_line(line)) + LINE_TOKENS if line else 0
                if line is None or cost > budget:
                    open_groups.discard(number)
                    break
                budget -= cost
                chosen[number].append(line)
    return chosen


def _render_group(title: str, kept: list[_OutlineLine], total: int) -> str:
    count = f"{len(kept)} of {total}, the surest" if len(kept) < total else f"{total}"
    shown = sorted(kept, key=lambda it: it.start)
    return "\n".join([f"{title} ({count})", *(_render_line(it) for it in shown)])


def _render_line(line: _OutlineLine) -> str:
    mark = "possible " if line.is_possible else ""
    place = f" @{line.start}" if line.start >= 0 else ""
    return f"- {mark}{line.confidence:.2f} {line.text}{place}"


def _summary(
    package: Package, groups: list[tuple[OutlineGroup, list[_OutlineLine]]], source_chars: int
) -> str:
    metadata = package.metadata
    size = f", {source_chars:,} characters" if source_chars else ""
    title = _cut(" ".join(text_of(metadata, "source_title").split()))
    first = f"{title} ({text_of(metadata, 'language') or 'language unknown'}{size})"
    counts = [
        f"{sum(not it.is_possible for it in lines)} {group.title.lower()}"
        for group, lines in groups
        if any(not it.is_possible for it in lines)
    ]
    possible = sum(it.is_possible for _, lines in groups for it in lines)
    holds = ", ".join(counts) or "nothing that is sure"
    more = f"; {possible} more are only possible" if possible else ""
    return (
        f"{first}\nHolds {holds}{more}. A number is the probability, @ the character in the source."
    )
