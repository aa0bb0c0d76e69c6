"""Findings of many files as SARIF, for code hosts. Never checks anything itself."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from urllib.parse import quote

from pecia.kernel.errors import Json, Unprocessable
from pecia.kernel.text.sarif import SarifResult, SarifRule, sarif
from pecia.rooms.ckf.package.finding import RULES, Finding, Severity
from pecia.rooms.ckf.package.model import SPEC_VERSION

BROKEN = SarifRule("UNPROCESSABLE", "error", "A document can be read.", "Mend the line named.")


@dataclass(frozen=True, slots=True)
class Checked:
    """A file and what was found in it; `broken` when it could not be read at all."""

    file: str
    findings: tuple[Finding, ...] = ()
    broken: Unprocessable | None = None

    @property
    def valid(self) -> bool:
        errors = (it for it in self.findings if it.severity is Severity.ERROR)
        return self.broken is None and next(errors, None) is None

    def report(self) -> dict[str, Json]:
        """As `--json` shows it."""
        found: dict[str, Json] = {"file": self.file, "valid": self.valid}
        if self.broken:
            return {**found, "errors": [self.broken.payload()], "warnings": []}
        issues: dict[Severity, list[Json]] = {it: [] for it in Severity}
        for it in self.findings:
            issues[it.severity].append(it.issue())
        return {
            **found,
            "errors": issues[Severity.ERROR],
            "warnings": issues[Severity.WARNING],
        }


def files_sarif(checked: Iterable[Checked]) -> dict[str, Json]:
    rules = [SarifRule(it.code, it.severity.value, it.summary, it.hint) for it in RULES.values()]
    results = [result for it in checked for result in _results(it)]
    return sarif("pecia ckf validate", SPEC_VERSION, [*rules, BROKEN], results)


def _results(checked: Checked) -> Iterator[SarifResult]:
    file = quote(checked.file)
    if broken := checked.broken:
        line = broken.fields.get("line")
        at = line if isinstance(line, int) else 1
        yield SarifResult(BROKEN.id, "error", broken.message, file, at)
    for it in checked.findings:
        # A pointer says where in the structure; a code host also wants a line to show.
        yield SarifResult(it.code, it.severity.value, it.message, file, 1, it.path)
