"""Findings written as SARIF 2.1.0, the form that code hosts and editors read. Never judges."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal, TypeAlias

from pecia.kernel.errors import Json

Level: TypeAlias = Literal["error", "warning", "note"]


@dataclass(frozen=True, slots=True)
class SarifRule:
    """A rule of the tool. `id` never changes: results and suppressions refer to it."""

    id: str
    level: Level
    summary: str
    help: str = ""


@dataclass(frozen=True, slots=True)
class SarifResult:
    """One finding in a file. `line` counts from one; `logical` is a place inside a structure."""

    rule: str
    level: Level
    message: str
    file: str = ""
    line: int | None = None
    logical: str = ""


def build_sarif(
    tool: str, version: str, rules: Iterable[SarifRule], results: Iterable[SarifResult]
) -> dict[str, Json]:
    """The log of one run."""
    known = list(rules)
    places = {it.id: number for number, it in enumerate(known)}
    driver: dict[str, Json] = {
        "name": tool,
        "version": version,
        "rules": [_rule(it) for it in known],
    }
    run: dict[str, Json] = {
        "tool": {"driver": driver},
        "columnKind": "unicodeCodePoints",
        "results": [_result(it, places[it.rule]) for it in results],
    }
    return {
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [run],
    }


def _rule(rule: SarifRule) -> dict[str, Json]:
    found: dict[str, Json] = {
        "id": rule.id,
        "shortDescription": {"text": rule.summary},
        "defaultConfiguration": {"level": rule.level},
    }
    return {**found, "help": {"text": rule.help}} if rule.help else found


def _result(result: SarifResult, rule_index: int) -> dict[str, Json]:
    return {
        "ruleId": result.rule,
        "ruleIndex": rule_index,
        "level": result.level,
        "message": {"text": result.message},
        "locations": [_location(result)],
    }


def _location(result: SarifResult) -> dict[str, Json]:
    found: dict[str, Json] = {}
    if result.file:
        physical: dict[str, Json] = {"artifactLocation": {"uri": result.file}}
        if result.line:
            physical["region"] = {"startLine": result.line}
        found["physicalLocation"] = physical
    if result.logical:
        found["logicalLocations"] = [{"fullyQualifiedName": result.logical}]
    return found
