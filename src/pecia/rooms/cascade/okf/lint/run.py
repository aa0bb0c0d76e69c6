"""All rules over a bundle, in order of place. Pure."""

from collections.abc import Iterator

from pecia.rooms.cascade.identity import is_reserved
from pecia.rooms.cascade.okf.lint.across import across_findings
from pecia.rooms.cascade.okf.lint.bundle import Bundle
from pecia.rooms.cascade.okf.lint.concept import concept_advice, concept_errors
from pecia.rooms.cascade.okf.lint.finding import Finding, Severity
from pecia.rooms.cascade.okf.lint.reserved import index_findings, log_findings


def validate(bundle: Bundle, *, strict: bool = False) -> list[Finding]:
    """What OKF forbids, and nothing else."""
    return [it for it in lint(bundle, strict=strict) if it.severity is Severity.ERROR]


def lint(bundle: Bundle, *, strict: bool = False) -> list[Finding]:
    """Everything there is to say of a bundle."""
    return sorted([*_single(bundle, strict=strict), *across_findings(bundle)])


def _single(bundle: Bundle, *, strict: bool) -> Iterator[Finding]:
    for path, page in bundle.pages.items():
        if not is_reserved(path):
            yield from concept_errors(page, strict=strict)
            yield from concept_advice(page, bundle.now)
        elif page.name.lower().startswith("index"):
            yield from index_findings(page)
        else:
            yield from log_findings(page)
