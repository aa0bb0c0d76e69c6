"""The whole cascade looked over: where layers disagree, what is stale, what would change. Pure."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime

from pecia.kernel.errors import Json
from pecia.rooms.cascade.dates import moment
from pecia.rooms.cascade.model import Effective, EffectiveSection
from pecia.rooms.cascade.okf.lint.concept import is_stale, verified_times
from pecia.rooms.cascade.view import View


def conflicts(view: View, now: datetime) -> Iterator[dict[str, Json]]:
    """Every contradiction, with its age and who could settle it."""
    for concept in view.ids:
        if len(view.holders(concept)) < 2:
            continue
        effective = view.effective(concept)
        for section in effective.sections:
            if section.conflicts:
                yield _section_conflict(effective, section, now)
        for it in effective.key_conflicts:
            (winner, _), *others = it.values
            value: dict[str, Json] = {
                "id": concept,
                "about": f"frontmatter {it.key}",
                "layer": winner.layer,
                "against": [contribution.layer for contribution, _ in others],
            }
            dates = [contribution.document.dated.value for contribution, _ in others]
            yield {**value, "days": _days(dates, now), "owner": owner_of(effective)}


def stale(view: View, now: datetime) -> Iterator[dict[str, Json]]:
    """Concepts past their `stale_after`, and those that changed since they were last verified."""
    for concept in view.ids:
        values = view.effective(concept).frontmatter
        generated = values.get("generated")
        made = moment(_text(generated.get("at") if isinstance(generated, dict) else None))
        seen = [found for it in verified_times(values) if (found := moment(_text(it)))]
        facts: dict[str, Json] = {"id": concept, "owner": owner_of(view.effective(concept))}
        if is_stale(values, now):
            yield {**facts, "why": "stale_after", "since": _text(values.get("stale_after"))}
        elif made and seen and max(seen) < made:
            yield {**facts, "why": "changed since verified", "since": made.isoformat()}


def owner_of(effective: Effective) -> str | None:
    """Who answers for a concept: its `owner`, else who generated it."""
    values = effective.frontmatter
    generated = values.get("generated")
    by = generated.get("by") if isinstance(generated, dict) else None
    return _text(values.get("owner")) or _text(by)


@dataclass(frozen=True, slots=True)
class Change:
    """What becomes of one part of one concept."""

    id: str
    part: str
    what: str
    before: str | None = None
    after: str | None = None

    def value(self) -> dict[str, Json]:
        return {
            "id": self.id,
            "part": self.part,
            "what": self.what,
            "before": self.before,
            "after": self.after,
        }


def compare(before: View, after: View) -> Iterator[Change]:
    """What the effective view gains, loses and changes from one cascade to the other."""
    for concept in sorted({*before.ids, *after.ids}):
        if not before.has(concept) or not after.has(concept):
            gained = after.has(concept)
            layers = ", ".join((after if gained else before).holders(concept))
            yield Change(concept, "concept", "gained" if gained else "lost", after=layers)
        elif before.contributions(concept) != after.contributions(concept):
            yield from _differences(before.effective(concept), after.effective(concept))


def _differences(before: Effective, after: Effective) -> Iterator[Change]:
    old, new = _parts(before), _parts(after)
    for part in [*new, *(it for it in old if it not in new)]:
        if part not in old:
            yield Change(before.id, part, "gained", after=new[part])
        elif part not in new:
            yield Change(before.id, part, "lost", before=old[part])
        elif old[part] != new[part]:
            yield Change(before.id, part, "changed", old[part], new[part])


def _parts(effective: Effective) -> dict[str, str]:
    """Every visible part by its name: keys of the frontmatter, then sections."""
    keys = {f"frontmatter {key}": _written(it) for key, it in effective.frontmatter.items()}
    shown = {f"section {it.key}": it.content for it in effective.sections if not it.suppressed}
    return {**keys, **shown}


def _section_conflict(
    effective: Effective, section: EffectiveSection, now: datetime
) -> dict[str, Json]:
    return {
        "id": effective.id,
        "about": f"section {section.key}",
        "layer": section.layer,
        "against": [it.layer for it in section.conflicts],
        "days": _days([it.updated for it in section.conflicts], now),
        "owner": owner_of(effective),
        **({"fresher": True} if section.fresher_dissent else {}),
    }


def _days(dates: list[str | None], now: datetime) -> int | None:
    """How long the youngest dissent has stood."""
    found = [it for date in dates if (it := moment(date))]
    return (now - max(found)).days if found else None


def _written(value: Json) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _text(value: Json) -> str | None:
    return value if isinstance(value, str) else None
