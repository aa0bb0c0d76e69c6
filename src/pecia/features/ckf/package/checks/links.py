"""Checks that ids are well formed and unique, and that references resolve. Pure."""

import re
from collections.abc import Iterator
from dataclasses import replace

from pecia.features.ckf.package.checks.findings import DocumentPath, FindingSeverity, PackageFinding
from pecia.features.ckf.package.field import FieldRole, PackageSection
from pecia.features.ckf.package.fields import ANY, ITEM_SECTIONS
from pecia.features.ckf.package.model import Package, text_of
from pecia.features.ckf.package.schema import id_pattern
from pecia.features.ckf.package.walk import PackageText, iter_texts


def check_links(package: Package) -> Iterator[PackageFinding]:
    owners: dict[str, str] = {}
    for section in ITEM_SECTIONS:
        for text in _ids(package, section):
            yield from _format(section, text)
            if text.value in owners:
                message = f"{text.value} is the id of an item in {owners[text.value]} already"
                yield text.place.make_finding("ID_DUPLICATE", message, got=text.value)
            owners.setdefault(text.value, section.key)
    labels = _labels(package)
    for text in iter_texts(package):
        if text.field.role is FieldRole.REFERENCE:
            yield from _reference(text, owners, labels)


def _ids(package: Package, section: PackageSection) -> Iterator[PackageText]:
    found = package.body.get(section.key)
    for number, it in enumerate(found if isinstance(found, list) else []):
        if isinstance(it, dict) and (name := text_of(it, "id")):
            place = DocumentPath(f"/{section.key}/{number}/id", section.key, name)
            yield PackageText(section.fields[0], it, place, name)


def _format(section: PackageSection, text: PackageText) -> Iterator[PackageFinding]:
    assert section.prefixes
    prefix = section.prefixes[0]
    if re.fullmatch(f"{prefix}_[a-z0-9_]+", text.value):
        return
    found = text.place.make_finding(
        "ID_FORMAT",
        f"{text.value!r} is not of the form {prefix}_words",
        expected=f"^{prefix}_[a-z0-9_]+$",
        got=text.value,
    )
    if re.match(id_pattern(section), text.value):
        # Counter ids of other compilers are valid but not stable: a warning.
        yield replace(found, severity=FindingSeverity.WARNING)
    else:
        yield found


def _labels(package: Package) -> dict[tuple[str, str], str]:
    return {
        (section.key, text_of(it, section.identity[0]).casefold()): text_of(it, "id")
        for section in ITEM_SECTIONS
        for it in package.items(section.key)
    }


def _reference(
    text: PackageText, owners: dict[str, str], labels: dict[tuple[str, str], str]
) -> Iterator[PackageFinding]:
    targets = text.field.targets
    if owners.get(text.value) and (ANY in targets or owners[text.value] in targets):
        return
    if meant := _resolve_label(text, labels):
        message = f"{text.value!r} is the label of {meant}"
        yield text.place.make_finding("REF_BY_LABEL", message, expected=meant, got=text.value)
        return
    wanted = "any item" if ANY in targets else " or ".join(targets)
    message = f"{text.field.name}: no {text.value!r} in {wanted}"
    yield text.place.make_finding("REF_DANGLING", message, expected=wanted, got=text.value)


def _resolve_label(text: PackageText, labels: dict[tuple[str, str], str]) -> str:
    """The id of the item with this label; only compilers with counter ids refer by label."""
    if not _COUNTER_ID.fullmatch(text_of(text.owner, "id")):
        return ""
    sections = [it.key for it in ITEM_SECTIONS] if ANY in text.field.targets else text.field.targets
    found = (labels.get((it, text.value.casefold())) for it in sections)
    return next((it for it in found if it), "")


_COUNTER_ID = re.compile(r"[a-z]{1,2}_[0-9]{3,}")
