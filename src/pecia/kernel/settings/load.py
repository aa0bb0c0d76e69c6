"""Reads every setting once, from five layers, and remembers which one won.

Flag, environment, project file, user file, default: the highest layer that speaks wins.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import TypeAlias, TypeVar, cast

from pydantic import ValidationError

from pecia.kernel.settings.catalog import Catalog, Known, catalog
from pecia.kernel.settings.convert import Silent
from pecia.kernel.settings.kernel import KernelSettings
from pecia.kernel.settings.layers import (
    Flag,
    Given,
    Remark,
    Said,
    from_environment,
    from_file,
    from_flags,
    strangers,
)
from pecia.kernel.settings.model import Part
from pecia.kernel.settings.origin import Layer, Origin
from pecia.kernel.settings.problem import Problem, refuse

P = TypeVar("P", bound=Part)

_LEAD = re.compile(r"^\w+ should (be|have) ")


@dataclass(frozen=True, slots=True)
class Settings:
    """All settings of one process, fixed at its start."""

    parts: Mapping[type[Part], Part]
    provenance: Mapping[str, Origin]
    warnings: tuple[str, ...] = ()

    @property
    def kernel(self) -> KernelSettings:
        return self.part(KernelSettings)

    def part(self, kind: type[P]) -> P:
        """The settings of one room."""
        # The loader files every part under its own class.
        return cast(P, self.parts[kind])


def load(
    parts: Sequence[type[Part]],
    *,
    flags: Mapping[str, Flag],
    environ: Mapping[str, str],
    project_file: Path | None,
    user_file: Path | None,
) -> Settings:
    """Settle every setting of these parts and of the kernel, or name every mistake at once.

    A flag is given by its dotted name. A file that the operator names (`--config FILE`) goes in as
    the user file: a project file is found, not chosen, and may set only what is marked `project`.
    """
    kinds = list(dict.fromkeys((KernelSettings, *parts)))
    known = catalog(kinds)
    said = [
        *from_flags(flags, known),
        *from_environment(environ, known),
        *from_file(Layer.PROJECT, project_file, known),
        *from_file(Layer.USER, user_file, known),
    ]
    settled = _settle_all(known, said)
    origins = {name: it.origin for name, it in settled.items()}
    made = {kind: _build(kind, known, settled) for kind in kinds}
    refuse(list(_clashes(made, origins)))
    warnings = (
        *(it.message for it in said if isinstance(it, Remark)),
        *strangers(environ, known),
        *(it for one in settled.values() for it in one.warnings),
        *(it for part in made.values() for it in part.remarks()),
    )
    return Settings(MappingProxyType(made), MappingProxyType(origins), warnings)


@dataclass(frozen=True, slots=True)
class _Settled:
    value: object
    origin: Origin
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class _Good:
    given: Given
    value: object


@dataclass(frozen=True, slots=True)
class _Bad:
    given: Given
    expected: str

    def problem(self) -> Problem:
        got = "a secret" if self.given.shown is None else repr(self.given.shown)
        name = self.given.known.name
        return Problem(
            name,
            f"{name} from {self.given.source}: expected {self.expected}, got {got}",
            {"source": self.given.source, "expected": self.expected, "got": got},
        )


_Reading: TypeAlias = _Good | _Bad


def _settle_all(known: Catalog, said: Sequence[Said]) -> dict[str, _Settled]:
    problems = [it for it in said if isinstance(it, Problem)]
    settled: dict[str, _Settled] = {}
    for one in known.settings:
        outcome = _settle(one, [it for it in said if isinstance(it, Given) and it.known is one])
        if isinstance(outcome, Problem):
            problems.append(outcome)
        else:
            settled[one.name] = outcome
    refuse(problems)
    return settled


def _settle(known: Known, givens: Sequence[Given]) -> _Settled | Problem:
    """The first that speaks wins; the rest are remembered where they said something else."""
    warnings: list[str] = []
    readings = list(_read(givens))
    for place, reading in enumerate(readings):
        if isinstance(reading, _Good):
            origin = _origin(reading, readings[place + 1 :])
            return _Settled(reading.value, origin, tuple(warnings))
        if not reading.given.lenient:
            return reading.problem()
        warnings.append(f"{reading.problem().message}; it is passed over")
    return _Settled(known.default(), Origin(Layer.DEFAULT), tuple(warnings))


def _read(givens: Sequence[Given]) -> Iterator[_Reading]:
    for given in givens:
        try:
            yield _Good(given, given.value())
        except Silent:
            continue
        except ValidationError as error:
            yield _Bad(given, _expected(error))
        except ValueError as error:
            yield _Bad(given, str(error))


def _origin(winner: _Good, rest: Sequence[_Reading]) -> Origin:
    given = winner.given
    overruled = tuple(
        Origin(it.given.layer, it.given.where, it.given.shown)
        for it in rest
        if isinstance(it, _Bad) or it.value != winner.value
    )
    return Origin(given.layer, given.where, given.shown, overruled)


def _expected(error: ValidationError) -> str:
    """Pydantic's sentences, as what should have been there."""
    messages = (it["msg"] for it in error.errors(include_url=False, include_input=False))
    return " or ".join(dict.fromkeys(_LEAD.sub("", it).split(", unable")[0] for it in messages))


def _build(kind: type[Part], known: Catalog, settled: Mapping[str, _Settled]) -> Part:
    return kind.model_validate(
        {it.field: settled[it.name].value for it in known.settings if it.part is kind}
    )


def _clashes(parts: Mapping[type[Part], Part], origins: Mapping[str, Origin]) -> Iterator[Problem]:
    for part in parts.values():
        for clash in part.clashes():
            name = f"{part.section}.{clash.field}".lstrip(".")
            source = str(origins[name])
            yield Problem(
                name,
                f"{name} from {source}: expected {clash.expected}",
                {"source": source, "expected": clash.expected},
            )
