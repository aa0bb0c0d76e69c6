"""Diff of two packages, by item and field. Pure and symmetric."""

from collections.abc import Iterable
from dataclasses import dataclass, field

from pecia.features.ckf.package.diff.contradictions import find_contradictions
from pecia.features.ckf.package.diff.items import ItemChange, SectionDiff, diff_items, diff_record
from pecia.features.ckf.package.diff.trace import diff_trace
from pecia.features.ckf.package.field import SectionKind
from pecia.features.ckf.package.fields import METADATA, RULE_SECTIONS, SECTION_BY_KEY, SECTIONS
from pecia.features.ckf.package.model import Item, Package
from pecia.features.ckf.package.seal import SEAL_FIELD
from pecia.kernel.errors import Json

VOLATILE_FIELDS = ("package_id", "created_at", SEAL_FIELD)


@dataclass(frozen=True, slots=True)
class PackageDiff:
    metadata: Item
    extensions: Item
    sections: dict[str, SectionDiff] = field(default_factory=dict[str, SectionDiff])
    contradictions: tuple[Item, ...] = ()

    @property
    def identical(self) -> bool:
        return not (self.metadata or self.extensions) and all(
            it.is_same for it in self.sections.values()
        )

    def to_json(self) -> Item:
        """Sections without a difference are only counted."""
        return {
            "identical": self.identical,
            "summary": self._summary(),
            "metadata": {"changed": self.metadata},
            "extensions": {"changed": self.extensions},
            "sections": {key: it.to_json() for key, it in self.sections.items() if not it.is_same},
            "highlights": self._highlights(),
        }

    def format_lines(self) -> list[str]:
        """The diff as lines for a terminal."""
        found = [f"metadata.{name} changed" for name in self.metadata]
        found += [f"{name} changed" for name in self.extensions]
        for key, it in self.sections.items():
            found += [f"+ {key} {one['id']}: {one['label']}" for one in it.added]
            found += [f"- {key} {one['id']}: {one['label']}" for one in it.removed]
            found += [f"~ {key} {one.id}: {', '.join(one.fields)}" for one in it.changed]
            found += [f"= {key} {one['from_id']} -> {one['to_id']}" for one in it.renamed]
        return found or ["identical"]

    def _summary(self) -> Item:
        all_of = self.sections.values()
        return {
            "added": sum(len(it.added) for it in all_of),
            "removed": sum(len(it.removed) for it in all_of),
            "changed": sum(len(it.changed) for it in all_of),
            "renamed": sum(len(it.renamed) for it in all_of),
            "unchanged": sum(it.unchanged for it in all_of),
        }

    def _highlights(self) -> Item:
        exceptions = self.sections["exceptions"]
        return {
            "rules_changed": _ids(it for key in RULE_SECTIONS for it in self.sections[key].changed),
            "exceptions_added": [it["id"] for it in exceptions.added],
            "exceptions_removed": [it["id"] for it in exceptions.removed],
            "procedures_changed": _ids(self.sections["procedures"].changed),
            "confidence_changed": [
                {"id": change.id, **sure}
                for it in self.sections.values()
                for change in it.changed
                if isinstance(sure := change.fields.get("confidence"), dict)
            ],
            "contradictions": list(self.contradictions),
        }


def diff_bodies(a: Package, b: Package, *, ignore_volatile: bool = True) -> PackageDiff:
    """Diff from `a` to `b`. Volatile: the package's id and date, and the order of trace rows."""
    skip = VOLATILE_FIELDS if ignore_volatile else ()
    sections = {it.key: _section(it.key, a, b, ignore_volatile) for it in SECTIONS}
    return PackageDiff(
        diff_record(METADATA.fields, a.metadata, b.metadata, skip),
        diff_record((), _others(a), _others(b)),
        sections,
        tuple(find_contradictions(a, b)),
    )


def _section(key: str, a: Package, b: Package, ignore_volatile: bool) -> SectionDiff:
    section = SECTION_BY_KEY[key]
    found = SectionDiff()
    if section.kind is SectionKind.OBJECT:
        fields = diff_record(section.fields, a.section_object(key), b.section_object(key))
        found.changed.extend([ItemChange(key, key, fields)] if fields else [])
    elif key == "source_traceability":
        found = diff_trace(a.trace, b.trace, ordered=not ignore_volatile)
    else:
        found = diff_items(section, a.items(key), b.items(key))
    if strays := diff_record(
        (), {"strays": _invalid_values(a, key)}, {"strays": _invalid_values(b, key)}
    ):
        found.changed.append(ItemChange(key, key, strays))
    return found


def _invalid_values(package: Package, key: str) -> Json:
    """Values of the wrong type, which would otherwise be skipped."""
    value, kind = package.body[key], SECTION_BY_KEY[key].kind
    if isinstance(value, list) and kind is SectionKind.ARRAY:
        return [it for it in value if not isinstance(it, dict)]
    return None if isinstance(value, dict) and kind is SectionKind.OBJECT else value


def _others(package: Package) -> Item:
    return {key: it for key, it in package.body.items() if key not in SECTION_BY_KEY}


def _ids(changes: Iterable[ItemChange]) -> list[Json]:
    return [it.id for it in changes]
