"""What flags, environment and files say, before anybody decides. Judges nothing."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

from pecia.kernel.settings.catalog import PREFIX, Catalog, Known, nearest
from pecia.kernel.settings.file import Entry, read_entries
from pecia.kernel.settings.model import Convert
from pecia.kernel.settings.origin import Layer
from pecia.kernel.settings.problem import Problem

Flag: TypeAlias = str | int | float | Sequence[str] | None
"""What a command line gives. None is a flag that was not given."""


@dataclass(frozen=True, slots=True)
class Given:
    """One place that speaks of one setting."""

    known: Known
    layer: Layer
    where: str
    raw: Flag
    convert: Convert | None = None
    lenient: bool = False

    @property
    def source(self) -> str:
        return f"{self.layer} {self.where}"

    @property
    def shown(self) -> str | None:
        """The text as it was written; nothing of a secret."""
        if self.known.about.secret:
            return None
        if isinstance(self.raw, str):
            return self.raw
        if isinstance(self.raw, Sequence):
            return f"[{', '.join(self.raw)}]"
        return "null" if self.raw is None else str(self.raw)

    def value(self) -> object:
        """The value meant. Raises ValueError where it is none, Silent where nothing was meant."""
        if self.convert is not None and isinstance(self.raw, str):
            return self.known.parse(self.convert(self.raw))
        return self.known.parse(self.raw)


@dataclass(frozen=True, slots=True)
class Remark:
    """What is worth a warning and stops nothing."""

    message: str


Said: TypeAlias = Given | Problem | Remark


def from_flags(flags: Mapping[str, Flag], catalog: Catalog) -> Iterator[Said]:
    """Flags by their dotted names."""
    for name, raw in flags.items():
        known = catalog.by_name.get(name)
        if known is None:
            meant = nearest(name, catalog.by_name)
            hint = f"; did you mean `{meant}`?" if meant else ""
            yield Problem(name, f"flag {name}: not a setting{hint}", {"nearest": meant})
        elif raw is not None:
            yield Given(known, Layer.FLAG, name, raw)


def from_environment(environ: Mapping[str, str], catalog: Catalog) -> Iterator[Said]:
    """Variables, ours before those of the references."""
    for known in catalog.settings:
        for name in known.env:
            if name in environ:
                yield Given(
                    known,
                    Layer.ENVIRONMENT,
                    name,
                    environ[name],
                    known.about.convert.get(name),
                    name in known.about.lenient,
                )


def from_file(layer: Layer, path: Path | None, catalog: Catalog) -> Iterator[Said]:
    """The keys of one file, ours before those of the references. A key that nobody knows is a
    mistake of the operator's, and in a project's file a warning."""
    if path is None:
        return
    entries: list[Entry] = []
    for found in read_entries(path, catalog):
        if isinstance(found, Problem):
            # A project is shared with people who have other versions and other tools.
            is_passed = found.is_unknown and (layer is Layer.PROJECT or found.is_shared)
            yield Remark(f"{found.message}; it is passed over") if is_passed else found
        else:
            entries.append(found)
    for entry in sorted(entries, key=lambda it: catalog.by_key[it.key].keys.index(it.key)):
        known = catalog.by_key[entry.key]
        given = Given(known, layer, f"{path}:{entry.line}", entry.raw)
        yield given if layer is not Layer.PROJECT or known.about.project else _misplaced(given)


def strangers(environ: Mapping[str, str], catalog: Catalog) -> Iterator[str]:
    """A warning for every variable that looks like ours and is not."""
    for name in sorted(environ):
        if name.startswith(PREFIX) and name not in catalog.variables:
            meant = nearest(name, (it for it in catalog.variables if it.startswith(PREFIX)))
            yield f"{name} is not a setting" + (f"; did you mean {meant}?" if meant else "")


def _misplaced(given: Given) -> Problem:
    name = given.known.name
    return Problem(
        name,
        f"{given.where}: `{name}` may not be set by a project; "
        f"use {given.known.env[0]} or your own configuration file",
        {"source": given.source},
    )
