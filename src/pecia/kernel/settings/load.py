"""Reads every setting once, from five layers, and remembers which one won.

Flag, environment, project file, user file, default: the highest layer with a value wins.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import TypeAlias, TypeVar, cast

from pydantic import ValidationError

from pecia.kernel.settings.catalog import KnownSetting, SettingsCatalog, build_catalog
from pecia.kernel.settings.kernel import KernelSettings
from pecia.kernel.settings.layers.convert import NotApplicable
from pecia.kernel.settings.layers.origin import SettingLayer, SettingOrigin
from pecia.kernel.settings.layers.values import (
    FlagValue,
    LayerItem,
    LayerValue,
    SettingWarning,
    read_file_layer,
    read_flags,
    read_variables,
    warn_unknown_variables,
)
from pecia.kernel.settings.model import SettingsSection
from pecia.kernel.settings.problem import SettingProblem, describe_value, raise_problems

P = TypeVar("P", bound=SettingsSection)

_LEAD = re.compile(r"^\w+ should (be|have) ")


@dataclass(frozen=True, slots=True)
class Settings:
    """All settings of one process, fixed at its start."""

    parts: Mapping[type[SettingsSection], SettingsSection]
    provenance: Mapping[str, SettingOrigin]
    warnings: tuple[str, ...] = ()

    @property
    def kernel(self) -> KernelSettings:
        return self.part(KernelSettings)

    def part(self, kind: type[P]) -> P:
        """The settings of one feature."""
        # The loader files every part under its own class.
        return cast(P, self.parts[kind])


def load_settings(
    parts: Sequence[type[SettingsSection]],
    *,
    flags: Mapping[str, FlagValue],
    environ: Mapping[str, str],
    project_file: Path | None,
    user_file: Path | None,
) -> Settings:
    """Resolve every setting of these parts and of the kernel, or report every mistake at once.

    A flag is given by its dotted name. A file that the operator names (`--config FILE`) goes in as
    the user file: a project file is found, not chosen, and may set only what is marked `project`.
    """
    kinds = list(dict.fromkeys((KernelSettings, *parts)))
    known = build_catalog(kinds)
    said = [
        *read_flags(flags, known),
        *read_variables(environ, known),
        *read_file_layer(SettingLayer.PROJECT, project_file, known),
        *read_file_layer(SettingLayer.USER, user_file, known),
    ]
    settled = _resolve_all(known, said)
    origins = {name: it.origin for name, it in settled.items()}
    made = {kind: _build(kind, known, settled) for kind in kinds}
    raise_problems(list(_clashes(made, origins)))
    warnings = (
        *(it.message for it in said if isinstance(it, SettingWarning)),
        *warn_unknown_variables(environ, known),
        *(it for one in settled.values() for it in one.warnings),
        *(it for part in made.values() for it in part.remarks()),
    )
    return Settings(MappingProxyType(made), MappingProxyType(origins), warnings)


@dataclass(frozen=True, slots=True)
class _Resolved:
    value: object
    origin: SettingOrigin
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class _Good:
    given: LayerValue
    value: object


@dataclass(frozen=True, slots=True)
class _Bad:
    given: LayerValue
    expected: str

    def problem(self) -> SettingProblem:
        got = "a secret" if self.given.shown is None else describe_value(self.given.shown)
        name = self.given.known.name
        return SettingProblem(
            name,
            f"{name} from {self.given.source}: expected {self.expected}, got {got}",
            {"source": self.given.source, "expected": self.expected, "got": got},
        )


_Reading: TypeAlias = _Good | _Bad


def _resolve_all(known: SettingsCatalog, said: Sequence[LayerItem]) -> dict[str, _Resolved]:
    problems = [it for it in said if isinstance(it, SettingProblem)]
    settled: dict[str, _Resolved] = {}
    for one in known.settings:
        outcome = _resolve(
            one, [it for it in said if isinstance(it, LayerValue) and it.known is one]
        )
        if isinstance(outcome, SettingProblem):
            problems.append(outcome)
        else:
            settled[one.name] = outcome
    raise_problems(problems)
    return settled


def _resolve(known: KnownSetting, givens: Sequence[LayerValue]) -> _Resolved | SettingProblem:
    """The first value wins; different ones below it are kept as overruled."""
    warnings: list[str] = []
    readings = list(_read(givens))
    for place, reading in enumerate(readings):
        if isinstance(reading, _Good):
            origin = _origin(reading, readings[place + 1 :])
            return _Resolved(reading.value, origin, tuple(warnings))
        if not reading.given.lenient:
            return reading.problem()
        warnings.append(f"{reading.problem().message}; it is passed over")
    return _Resolved(known.default(), SettingOrigin(SettingLayer.DEFAULT), tuple(warnings))


def _read(givens: Sequence[LayerValue]) -> Iterator[_Reading]:
    for given in givens:
        try:
            yield _Good(given, given.value())
        except NotApplicable:
            continue
        except ValidationError as error:
            yield _Bad(given, describe_expected(error))
        except ValueError as error:
            yield _Bad(given, str(error))


def _origin(winner: _Good, rest: Sequence[_Reading]) -> SettingOrigin:
    given = winner.given
    overruled = tuple(
        SettingOrigin(it.given.layer, it.given.where, it.given.shown)
        for it in rest
        if isinstance(it, _Bad) or it.value != winner.value
    )
    return SettingOrigin(given.layer, given.where, given.shown, overruled)


def describe_expected(error: ValidationError) -> str:
    """Pydantic's sentences, as what should have been there."""
    found = error.errors(include_url=False, include_input=False)
    messages = ("a path" if it["type"] == "path_type" else it["msg"] for it in found)
    return " or ".join(dict.fromkeys(_LEAD.sub("", it).split(", unable")[0] for it in messages))


def _build(
    kind: type[SettingsSection], known: SettingsCatalog, settled: Mapping[str, _Resolved]
) -> SettingsSection:
    return kind.model_validate(
        {it.field: settled[it.name].value for it in known.settings if it.part is kind}
    )


def _clashes(
    parts: Mapping[type[SettingsSection], SettingsSection], origins: Mapping[str, SettingOrigin]
) -> Iterator[SettingProblem]:
    for part in parts.values():
        for clash in part.clashes():
            name = f"{part.section}.{clash.field}".lstrip(".")
            source = str(origins[name])
            yield SettingProblem(
                name,
                f"{name} from {source}: expected {clash.expected}",
                {"source": source, "expected": clash.expected},
            )
