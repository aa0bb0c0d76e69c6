"""Retrieval aids: triggers by title, and chunks that list the items they contain.

Pure. A trigger is synthesized, not stated by the source; its basis says so.
"""

from bisect import bisect_right
from collections.abc import Iterator

from pecia.features.ckf.heuristic.candidate import DERIVED_CONFIDENCE, ItemCandidate
from pecia.features.ckf.heuristic.parse.text import ParsedText, Sentence
from pecia.features.ckf.package.fields import RULE_SECTIONS
from pecia.kernel.errors import Json

MAX_ACTIVATED = 12
MAX_QUERIES = 6


def extract_triggers(parsed: ParsedText, chosen: list[ItemCandidate]) -> Iterator[ItemCandidate]:
    """One trigger for each title with rules under it, which lists those rules."""
    rules_by_part: dict[int, list[ItemCandidate]] = {}
    for it in chosen:
        if it.section in _ACTIVATED:
            rules_by_part.setdefault(it.lines[-1].part, []).append(it)
    for line in parsed.lines:
        found = rules_by_part.pop(line.part, None) if line.title else None
        if found:
            yield _trigger(parsed, line, found)


def describe_chunks(parsed: ParsedText, chosen: list[ItemCandidate]) -> None:
    """Add to each chunk the rules, concepts and titles it contains."""
    found = [it for it in chosen if it.section == "retrieval_chunks"]
    starts = [it.lines[0].span.start for it in found]
    if not found:
        return
    for it in chosen:
        name = _LINK_BY_SECTION.get(it.section)
        if name:
            chunk = found[max(0, bisect_right(starts, it.lines[-1].span.start) - 1)]
            chunk.link(name, it)
            if it.section == "concepts":
                _add_query(chunk, str(it.fields["label"]))
    for part in parsed.parts:
        if part.title:
            _add_query(found[max(0, bisect_right(starts, part.place.span.start) - 1)], part.title)


def _trigger(parsed: ParsedText, line: Sentence, rules: list[ItemCandidate]) -> ItemCandidate:
    title = parsed.parts[line.part].title
    fields: dict[str, Json] = {"if_user_says_or_context_contains": title}
    made = ItemCandidate(
        "contextual_triggers", title, fields, (line,), "synthesized", DERIVED_CONFIDENCE
    )
    for it in rules[:MAX_ACTIVATED]:
        made.link("activate_knowledge", it)
    return made


def _add_query(chunk: ItemCandidate, query: str) -> None:
    queries = chunk.fields.setdefault("activation_queries", [])
    if isinstance(queries, list) and len(queries) < MAX_QUERIES and query not in queries:
        queries.append(query)


_ACTIVATED = frozenset({*RULE_SECTIONS, "procedures", "anti_patterns"})
_LINK_BY_SECTION = {**dict.fromkeys(RULE_SECTIONS, "related_rules"), "concepts": "related_concepts"}
