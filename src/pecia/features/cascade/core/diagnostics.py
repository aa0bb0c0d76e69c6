"""Reports on a whole cascade: conflicts, stale concepts, and diffs between views. Pure."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime

from pecia.features.cascade.core.dates import parse_instant
from pecia.features.cascade.core.view import CascadeView
from pecia.features.cascade.model import EffectiveConcept, EffectiveSection
from pecia.features.cascade.okf.lint.concept_rules import is_stale, verified_times
from pecia.kernel.errors import Json


def list_conflicts(view: CascadeView, now: datetime) -> Iterator[dict[str, Json]]:
    """Every conflict, with its age and owner."""
    for concept in view.ids:
        if len(view.list_layers(concept)) < 2:
            continue
        effective = view.effective(concept)
        for section in effective.sections:
            if section.conflicts:
                yield _conflict_json(effective, section, now)
        for it in effective.key_conflicts:
            (winner, _), *others = it.values
            value: dict[str, Json] = {
                "id": concept,
                "about": f"frontmatter {it.key}",
                "layer": winner.layer,
                "against": [contribution.layer for contribution, _ in others],
            }
            dates = [contribution.document.dated.value for contribution, _ in others]
            yield {**value, "days": _dissent_age_days(dates, now), "owner": owner_of(effective)}


def list_stale(view: CascadeView, now: datetime) -> Iterator[dict[str, Json]]:
    """Concepts past their `stale_after`, and those that changed since they were last verified."""
    for concept in view.ids:
        values = view.effective(concept).frontmatter
        generated = values.get("generated")
        made = parse_instant(_text(generated.get("at") if isinstance(generated, dict) else None))
        seen = [found for it in verified_times(values) if (found := parse_instant(_text(it)))]
        facts: dict[str, Json] = {"id": concept, "owner": owner_of(view.effective(concept))}
        if is_stale(values, now):
            yield {**facts, "why": "stale_after", "since": _text(values.get("stale_after"))}
        elif made and seen and max(seen) < made:
            yield {**facts, "why": "changed since verified", "since": made.isoformat()}


def owner_of(effective: EffectiveConcept) -> str | None:
    """The `owner` of a concept, else who generated it."""
    values = effective.frontmatter
    generated = values.get("generated")
    by = generated.get("by") if isinstance(generated, dict) else None
    return _text(values.get("owner")) or _text(by)


@dataclass(frozen=True, slots=True)
class ConceptChange:
    """The change of one part of one concept."""

    id: str
    part: str
    kind: str
    before: str | None = None
    after: str | None = None

    def to_json(self) -> dict[str, Json]:
        return {
            "id": self.id,
            "part": self.part,
            "what": self.kind,
            "before": self.before,
            "after": self.after,
        }


def compare_views(before: CascadeView, after: CascadeView) -> Iterator[ConceptChange]:
    """What the effective view gains, loses and changes from one cascade to the other."""
    for concept in sorted({*before.ids, *after.ids}):
        if not before.has(concept) or not after.has(concept):
            gained = after.has(concept)
            layers = ", ".join((after if gained else before).list_layers(concept))
            yield ConceptChange(concept, "concept", "gained" if gained else "lost", after=layers)
        elif before.contributions(concept) != after.contributions(concept):
            yield from _diff_concept(before.effective(concept), after.effective(concept))


def _diff_concept(before: EffectiveConcept, after: EffectiveConcept) -> Iterator[ConceptChange]:
    old, new = _visible_parts(before), _visible_parts(after)
    for part in [*new, *(it for it in old if it not in new)]:
        if part not in old:
            yield ConceptChange(before.id, part, "gained", after=new[part])
        elif part not in new:
            yield ConceptChange(before.id, part, "lost", before=old[part])
        elif old[part] != new[part]:
            yield ConceptChange(before.id, part, "changed", old[part], new[part])


def _visible_parts(effective: EffectiveConcept) -> dict[str, str]:
    """Every visible part by its name: keys of the frontmatter, then sections."""
    keys = {f"frontmatter {key}": _format_value(it) for key, it in effective.frontmatter.items()}
    shown = {f"section {it.key}": it.content for it in effective.sections if not it.suppressed}
    return {**keys, **shown}


def _conflict_json(
    effective: EffectiveConcept, section: EffectiveSection, now: datetime
) -> dict[str, Json]:
    return {
        "id": effective.id,
        "about": f"section {section.key}",
        "layer": section.layer,
        "against": [it.layer for it in section.conflicts],
        "days": _dissent_age_days([it.updated for it in section.conflicts], now),
        "owner": owner_of(effective),
        **({"fresher": True} if section.fresher_dissent else {}),
    }


def _dissent_age_days(dates: list[str | None], now: datetime) -> int | None:
    """Age of the latest dissent."""
    found = [it for date in dates if (it := parse_instant(date))]
    return (now - max(found)).days if found else None


def _format_value(value: Json) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _text(value: Json) -> str | None:
    return value if isinstance(value, str) else None
