"""The raw values of flags, environment and files, before they are resolved."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

from pecia.kernel.settings.catalog import PREFIX, KnownSetting, SettingsCatalog, find_nearest_name
from pecia.kernel.settings.layers.file import ConfigEntry, read_entries
from pecia.kernel.settings.layers.origin import SettingLayer
from pecia.kernel.settings.model import ConvertText
from pecia.kernel.settings.problem import SettingProblem

FlagValue: TypeAlias = str | int | float | Sequence[str] | None
"""What a command line gives. None is a flag that was not given."""


@dataclass(frozen=True, slots=True)
class LayerValue:
    """One raw value of one setting, and where it was given."""

    known: KnownSetting
    layer: SettingLayer
    where: str
    raw: FlagValue
    convert: ConvertText | None = None
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
class SettingWarning:
    """What is worth a warning and stops nothing."""

    message: str


LayerItem: TypeAlias = LayerValue | SettingProblem | SettingWarning


def read_flags(flags: Mapping[str, FlagValue], catalog: SettingsCatalog) -> Iterator[LayerItem]:
    """Flags by their dotted names."""
    for name, raw in flags.items():
        known = catalog.by_name.get(name)
        if known is None:
            meant = find_nearest_name(name, catalog.by_name)
            hint = f"; did you mean `{meant}`?" if meant else ""
            yield SettingProblem(name, f"flag {name}: not a setting{hint}", {"nearest": meant})
        elif raw is not None:
            yield LayerValue(known, SettingLayer.FLAG, name, raw)


def read_variables(environ: Mapping[str, str], catalog: SettingsCatalog) -> Iterator[LayerItem]:
    """Variables, ours before those of the references."""
    for known in catalog.settings:
        for name in known.env:
            if name in environ:
                yield LayerValue(
                    known,
                    SettingLayer.ENVIRONMENT,
                    name,
                    environ[name],
                    known.about.convert.get(name),
                    name in known.about.lenient,
                )


def read_file_layer(
    layer: SettingLayer, path: Path | None, catalog: SettingsCatalog
) -> Iterator[LayerItem]:
    """The keys of one file, ours before those of the references. A key that nobody knows is a
    mistake of the operator's, and in a project's file a warning."""
    if path is None:
        return
    entries: list[ConfigEntry] = []
    for found in read_entries(path, catalog):
        if isinstance(found, SettingProblem):
            # A project is shared with people who have other versions and other tools.
            is_passed = found.is_unknown and (layer is SettingLayer.PROJECT or found.is_shared)
            yield SettingWarning(f"{found.message}; it is passed over") if is_passed else found
        else:
            entries.append(found)
    for entry in sorted(entries, key=lambda it: catalog.by_key[it.key].keys.index(it.key)):
        known = catalog.by_key[entry.key]
        given = LayerValue(known, layer, f"{path}:{entry.line}", entry.raw)
        yield (
            given
            if layer is not SettingLayer.PROJECT or known.about.project
            else _misplaced_problem(given)
        )


def warn_unknown_variables(environ: Mapping[str, str], catalog: SettingsCatalog) -> Iterator[str]:
    """A warning for every variable that looks like ours and is not."""
    for name in sorted(environ):
        if name.startswith(PREFIX) and name not in catalog.variables:
            meant = find_nearest_name(
                name, (it for it in catalog.variables if it.startswith(PREFIX))
            )
            yield f"{name} is not a setting" + (f"; did you mean {meant}?" if meant else "")


def _misplaced_problem(given: LayerValue) -> SettingProblem:
    name = given.known.name
    return SettingProblem(
        name,
        f"{given.where}: `{name}` may not be set by a project; "
        f"use {given.known.env[0]} or your own configuration file",
        {"source": given.source},
    )
