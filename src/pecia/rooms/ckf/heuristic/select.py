"""Which candidates a level keeps: each once, by priority, within a budget. Pure."""

from collections.abc import Iterable

import orjson

from pecia.rooms.ckf.heuristic.assemble import SHORT_QUOTE
from pecia.rooms.ckf.heuristic.candidate import Candidate
from pecia.rooms.ckf.heuristic.join import joined
from pecia.rooms.ckf.heuristic.level import PRIORITY, RULE_SECTIONS, Level
from pecia.rooms.ckf.package.model import Item
from pecia.rooms.ckf.package.verify import HASH_CHARS

MOST_REPEATS = 3


def select(candidates: Iterable[Candidate], level: Level, spare_chars: float) -> list[Candidate]:
    """In the order given, within `spare_chars` of JSON where the level has a budget.

    What is left out is in the chunks all the same.
    """
    kept = _at_home(_once(candidates), level.homes)
    if level.spare:
        kept = joined(kept)
    if not level.every_statement:
        kept = _without_echoes(kept)
    return kept if level.budget is None else _within(kept, spare_chars)


def _once(candidates: Iterable[Candidate]) -> list[Candidate]:
    """The same words in the same section are one item, with the places of the first few."""
    first: dict[tuple[str, str], Candidate] = {}
    for it in candidates:
        known = first.setdefault((it.section, it.words), it)
        if known is not it and len(known.lines) < MOST_REPEATS:
            known.lines += it.lines[:1]
    return list(first.values())


def _at_home(candidates: list[Candidate], homes: int) -> list[Candidate]:
    """Each sentence in its most telling rule sections only."""
    used: dict[int, int] = {}
    dropped: set[int] = set()
    rules = [it for it in candidates if it.section in RULE_SECTIONS]
    for it in sorted(rules, key=lambda it: _RANK[it.section]):
        place = it.lines[-1].span.start
        used[place] = used.get(place, 0) + 1
        if used[place] > homes:
            dropped.add(id(it))
    return [it for it in candidates if id(it) not in dropped]


def _without_echoes(candidates: list[Candidate]) -> list[Candidate]:
    """A statement that a rule quotes already says nothing new."""
    said = {line.span.start for it in candidates if it.section in _TELLING for line in it.lines}
    return [
        it
        for it in candidates
        if it.section != "atomic_units" or it.lines[0].span.start not in said
    ]


def _within(candidates: list[Candidate], spare_chars: float) -> list[Candidate]:
    """Chunks always; then section by section, spread over the text where not all of one fit."""
    by_section: dict[str, list[Candidate]] = {}
    for it in candidates:
        by_section.setdefault(it.section, []).append(it)
    kept: set[int] = set()
    for section in PRIORITY:
        found = by_section.get(section, [])
        costs = [_cost(it) for it in found]
        if section == PRIORITY[0] or sum(costs) <= spare_chars:
            chosen = list(range(len(found)))
        else:
            chosen = _spread(costs, spare_chars)
        kept.update(id(found[at]) for at in chosen)
        spare_chars -= sum(costs[at] for at in chosen)
    return [it for it in candidates if id(it) in kept]


def _spread(costs: list[int], spare_chars: float) -> list[int]:
    """As many places as the budget pays for, at equal distances, then whatever still fits."""
    count = int(spare_chars * len(costs) // sum(costs)) if spare_chars > 0 else 0
    spread = [at * len(costs) // count for at in range(count)]
    chosen: set[int] = set()
    for at in [*spread, *range(len(costs))]:
        if at not in chosen and costs[at] <= spare_chars:
            chosen.add(at)
            spare_chars -= costs[at]
    return sorted(chosen)


def _cost(candidate: Candidate) -> int:
    """Characters of JSON that the item and its rows will take, as they are written."""
    quote = "x" * min(candidate.lines[-1].span.size, SHORT_QUOTE)
    row: Item = {
        "extracted_item_id": "x" * 48,
        "source_location": "s_001#L1000-L1000",
        "source_excerpt": quote,
        "extraction_type": candidate.basis,
        "source_char_start": 100_000,
        "source_char_end": 100_000,
    }
    if candidate.lines[-1].span.size > SHORT_QUOTE:
        row |= {"source_span_end": 100_000, "source_span_sha256": "x" * HASH_CHARS}
    item: Item = {"id": "x" * 48, "source_basis": candidate.basis, "confidence": 0.92}
    written = orjson.dumps([{**item, **candidate.fields}, row], option=orjson.OPT_INDENT_2)
    # Both stand two levels deeper in the package than here.
    return len(written) + 2 * written.count(b"\n")


_RANK = {section: at for at, section in enumerate(PRIORITY)}
_TELLING = RULE_SECTIONS | {"procedures", "causal_chains", "patterns", "mental_models", "concepts"}
