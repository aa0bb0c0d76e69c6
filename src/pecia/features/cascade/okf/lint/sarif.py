"""Findings as SARIF 2.1.0, which code hosts show beside the lines of a pull request. Pure."""

from collections.abc import Sequence
from urllib.parse import quote

from pecia.features.cascade.okf.lint.findings import LintFinding, LintSeverity
from pecia.kernel.errors import Json

LEVELS = {LintSeverity.ERROR: "error", LintSeverity.WARNING: "warning", LintSeverity.INFO: "note"}
SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"


def build_sarif(findings: Sequence[LintFinding], version: str) -> Json:
    """One run of one tool."""
    rules: list[Json] = [{"id": it} for it in sorted({it.rule for it in findings})]
    driver: dict[str, Json] = {"name": "pecia okf", "version": version, "rules": rules}
    results: list[Json] = [_result(it) for it in findings]
    run: dict[str, Json] = {"tool": {"driver": driver}, "results": results}
    return {"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}


def _result(it: LintFinding) -> Json:
    place: dict[str, Json] = {
        "artifactLocation": {"uri": quote(it.path)},
        "region": {"startLine": it.line},
    }
    return {
        "ruleId": it.rule,
        "level": LEVELS[it.severity],
        "message": {"text": it.message},
        "locations": [{"physicalLocation": place}],
    }
