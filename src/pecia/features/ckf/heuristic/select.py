"""Selects the candidates of a level: deduplicated, by priority, within a budget. Pure."""

from collections.abc import Iterable

import orjson

from pecia.features.ckf.heuristic.assemble import SHORT_QUOTE_CHARS
from pecia.features.ckf.heuristic.candidate import ItemCandidate
from pecia.features.ckf.heuristic.level import RULE_SECTIONS, SECTION_PRIORITY, CompressionProfile
from pecia.features.ckf.heuristic.parse.text import Sentence
from pecia.features.ckf.heuristic.rate import POSSIBLE_BASIS
from pecia.features.ckf.package.model import Item
from pecia.features.ckf.package.verify import HASH_CHARS

MAX_JOINED_CHARS = 600


def join_neighbours(candidates: list[ItemCandidate]) -> list[ItemCandidate]:
    """Join adjacent sentences of a paragraph into one item with one trace row."""
    found: list[ItemCandidate] = []
    last_by_section: dict[str, ItemCandidate] = {}
    for it in candidates:
        last = last_by_section.get(it.section)
        if last and it.section in _TEXT_FIELD and _follows(last.lines[-1], it.lines[-1]):
            _extend(last, it)
            continue
        last_by_section[it.section] = it
        found.append(it)
    return found


def _follows(last: Sentence, line: Sentence) -> bool:
    if last.block is not line.block or line.span.end - last.span.start > MAX_JOINED_CHARS:
        return False
    # At most two characters between them: only white space.
    return 0 <= line.span.start - last.span.end <= 2


def _extend(first: ItemCandidate, other: ItemCandidate) -> None:
    last, line = first.lines[-1], other.lines[-1]
    between = " " * (line.span.start - last.span.end)
    text = f"{last.text}{between}{line.text}"
    span = type(last.span)(last.span.start, line.span.end)
    whole = Sentence(text, span, last.block, last.opens_block, False, last.part)
    first.lines = (*first.lines[:-1], whole)
    first.fields[_TEXT_FIELD[first.section]] = text


# The field of each section that can hold several sentences.
_TEXT_FIELD = {
    "exceptions": "exception_case",
    "anti_patterns": "description",
    "principles": "statement",
    "decision_rules": "decision",
    "if_then_rules": "then",
}


MAX_REPEATS = 3


def select_candidates(
    candidates: Iterable[ItemCandidate], level: CompressionProfile, spare_chars: float
) -> list[ItemCandidate]:
    """The selected candidates in order, within `spare_chars` of JSON if the level has a budget.

    The text of a dropped candidate is still in a chunk.
    """
    kept = _limit_sections(_deduplicate(candidates), level.sections_per_sentence)
    if level.spare:
        kept = join_neighbours(kept)
    if not level.every_statement:
        kept = _drop_restated(kept)
    return kept if level.budget is None else _fit_budget(kept, spare_chars)


def _deduplicate(candidates: Iterable[ItemCandidate]) -> list[ItemCandidate]:
    """Merge equal texts of a section into one item that cites the first few occurrences."""
    first: dict[tuple[str, str], ItemCandidate] = {}
    for it in candidates:
        known = first.setdefault((it.section, it.words), it)
        if known is not it and len(known.lines) < MAX_REPEATS:
            known.lines += it.lines[:1]
    return list(first.values())


def _limit_sections(candidates: list[ItemCandidate], limit: int) -> list[ItemCandidate]:
    """Keep each sentence only in its rule sections of highest priority."""
    used: dict[int, int] = {}
    dropped: set[int] = set()
    rules = [it for it in candidates if it.section in RULE_SECTIONS]
    for it in sorted(rules, key=lambda it: _RANK[it.section]):
        place = it.lines[-1].span.start
        used[place] = used.get(place, 0) + 1
        if used[place] > limit:
            dropped.add(id(it))
    return [it for it in candidates if id(it) not in dropped]


def _drop_restated(candidates: list[ItemCandidate]) -> list[ItemCandidate]:
    """Drop statements that a rule already quotes, unless that rule is only possible.

    A rule whose sentence could not be cut is kept whole, also beside an exception to it.
    """
    stated = [it for it in candidates if it.basis != POSSIBLE_BASIS]
    quoting = [it for it in stated if it.section in _QUOTING_SECTIONS]
    quoted = {line.span.start for it in quoting for line in it.lines}
    uncut = {it.lines[-1].span.start for it in candidates if not it.certain}
    stated_starts = {it.lines[-1].span.start for it in stated if it.section in _STATING_SECTIONS}
    return [it for it in candidates if not _is_restated(it, quoted, uncut - stated_starts)]


def _is_restated(candidate: ItemCandidate, quoted: set[int], uncut: set[int]) -> bool:
    start = candidate.lines[0].span.start
    if candidate.section != "atomic_units" or start not in quoted:
        return False
    return candidate.fields["type"] != "rule" or start not in uncut


def _fit_budget(candidates: list[ItemCandidate], spare_chars: float) -> list[ItemCandidate]:
    """All chunks; then by section, spread evenly over the text if a section does not fit."""
    by_section: dict[str, list[ItemCandidate]] = {}
    for it in candidates:
        by_section.setdefault(it.section, []).append(it)
    kept: set[int] = set()
    for section in SECTION_PRIORITY:
        found = by_section.get(section, [])
        costs = [_cost(it) for it in found]
        if section == SECTION_PRIORITY[0] or sum(costs) <= spare_chars:
            chosen = list(range(len(found)))
        else:
            chosen = _spread(costs, spare_chars)
        kept.update(id(found[at]) for at in chosen)
        spare_chars -= sum(costs[at] for at in chosen)
    return [it for it in candidates if id(it) in kept]


def _spread(costs: list[int], spare_chars: float) -> list[int]:
    """Indices at equal distances, as many as the budget allows, then whatever still fits."""
    count = int(spare_chars * len(costs) // sum(costs)) if spare_chars > 0 else 0
    spread = [at * len(costs) // count for at in range(count)]
    chosen: set[int] = set()
    for at in [*spread, *range(len(costs))]:
        if at not in chosen and costs[at] <= spare_chars:
            chosen.add(at)
            spare_chars -= costs[at]
    return sorted(chosen)


def _cost(candidate: ItemCandidate) -> int:
    """The size of the item and its rows, in characters of JSON as written."""
    quote = "x" * min(candidate.lines[-1].span.size, SHORT_QUOTE_CHARS)
    row: Item = {
        "extracted_item_id": "x" * 48,
        "source_location": "s_001#L1000-L1000",
        "source_excerpt": quote,
        "extraction_type": candidate.basis,
        "source_char_start": 100_000,
        "source_char_end": 100_000,
    }
    if candidate.lines[-1].span.size > SHORT_QUOTE_CHARS:
        row |= {"source_span_end": 100_000, "source_span_sha256": "x" * HASH_CHARS}
    item: Item = {"id": "x" * 48, "source_basis": candidate.basis, "confidence": 0.92}
    written = orjson.dumps([{**item, **candidate.fields}, row], option=orjson.OPT_INDENT_2)
    # Both are nested two levels deeper in the package.
    return len(written) + 2 * written.count(b"\n")


_RANK = {section: at for at, section in enumerate(SECTION_PRIORITY)}
_STATING_SECTIONS = RULE_SECTIONS - {"exceptions"}
_QUOTING_SECTIONS = RULE_SECTIONS | {
    "procedures",
    "causal_chains",
    "patterns",
    "mental_models",
    "concepts",
}
