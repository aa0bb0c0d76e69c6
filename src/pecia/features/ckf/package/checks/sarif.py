"""Findings of many files as SARIF, for code hosts. Never checks anything itself."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from urllib.parse import quote

from pecia.features.ckf.package.checks.findings import (
    FINDING_RULES,
    FindingSeverity,
    PackageFinding,
)
from pecia.features.ckf.package.model import SPEC_VERSION
from pecia.kernel.errors import Json, Unprocessable
from pecia.kernel.text.sarif import SarifResult, SarifRule, build_sarif

UNREADABLE_RULE = SarifRule(
    "UNPROCESSABLE", "error", "A document can be read.", "Mend the line named."
)


@dataclass(frozen=True, slots=True)
class CheckedFile:
    """A file and its findings; `broken` if it could not be parsed."""

    file: str
    findings: tuple[PackageFinding, ...] = ()
    error: Unprocessable | None = None

    @property
    def valid(self) -> bool:
        errors = (it for it in self.findings if it.severity is FindingSeverity.ERROR)
        return self.error is None and next(errors, None) is None

    def to_json(self) -> dict[str, Json]:
        """As `--json` shows it."""
        found: dict[str, Json] = {"file": self.file, "valid": self.valid}
        if self.error:
            return {**found, "errors": [self.error.payload()], "warnings": []}
        issues: dict[FindingSeverity, list[Json]] = {it: [] for it in FindingSeverity}
        for it in self.findings:
            issues[it.severity].append(it.to_json())
        return {
            **found,
            "errors": issues[FindingSeverity.ERROR],
            "warnings": issues[FindingSeverity.WARNING],
        }


def build_files_sarif(checked: Iterable[CheckedFile]) -> dict[str, Json]:
    rules = [
        SarifRule(it.code, it.severity.value, it.summary, it.hint) for it in FINDING_RULES.values()
    ]
    results = [result for it in checked for result in _results(it)]
    return build_sarif("pecia ckf validate", SPEC_VERSION, [*rules, UNREADABLE_RULE], results)


def _results(checked: CheckedFile) -> Iterator[SarifResult]:
    file = quote(checked.file)
    if broken := checked.error:
        line = broken.fields.get("line")
        at = line if isinstance(line, int) else 1
        yield SarifResult(UNREADABLE_RULE.id, "error", broken.message, file, at)
    for it in checked.findings:
        # A pointer is a position in the structure; code hosts also need a line.
        yield SarifResult(it.code, it.severity.value, it.message, file, 1, it.path)
