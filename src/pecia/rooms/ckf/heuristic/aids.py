"""What helps a reader to find the rules: triggers by title, and chunks that name what is in them.

Pure. A trigger is made, not said by the source, and its basis says so.
"""

from bisect import bisect_right
from collections.abc import Iterator

from pecia.kernel.errors import Json
from pecia.rooms.ckf.heuristic.candidate import MADE, Candidate
from pecia.rooms.ckf.heuristic.reading import Line, Reading
from pecia.rooms.ckf.package.fields import RULES

MOST_ACTIVATED = 12
MOST_QUERIES = 6


def triggers(reading: Reading, chosen: list[Candidate]) -> Iterator[Candidate]:
    """For each title with rules under it: when it is spoken of, these rules matter."""
    rules_by_part: dict[int, list[Candidate]] = {}
    for it in chosen:
        if it.section in _ACTIVATED:
            rules_by_part.setdefault(it.lines[-1].part, []).append(it)
    for line in reading.lines:
        found = rules_by_part.pop(line.part, None) if line.title else None
        if found:
            yield _trigger(reading, line, found)


def describe_chunks(reading: Reading, chosen: list[Candidate]) -> None:
    """Give each chunk the rules, the concepts and the titles that stand in it."""
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
                _ask(chunk, str(it.fields["label"]))
    for part in reading.parts:
        if part.title:
            _ask(found[max(0, bisect_right(starts, part.place.span.start) - 1)], part.title)


def _trigger(reading: Reading, line: Line, rules: list[Candidate]) -> Candidate:
    title = reading.parts[line.part].title
    fields: dict[str, Json] = {"if_user_says_or_context_contains": title}
    made = Candidate("contextual_triggers", title, fields, (line,), "synthesized", MADE)
    for it in rules[:MOST_ACTIVATED]:
        made.link("activate_knowledge", it)
    return made


def _ask(chunk: Candidate, query: str) -> None:
    queries = chunk.fields.setdefault("activation_queries", [])
    if isinstance(queries, list) and len(queries) < MOST_QUERIES and query not in queries:
        queries.append(query)


_ACTIVATED = frozenset({*RULES, "procedures", "anti_patterns"})
_LINK_BY_SECTION = {**dict.fromkeys(RULES, "related_rules"), "concepts": "related_concepts"}
