"""Runs all rules over a bundle; findings in order of position. Pure."""

from collections.abc import Iterator

from pecia.features.cascade.core.concept_id import is_reserved
from pecia.features.cascade.okf.lint.bundle import OkfBundle
from pecia.features.cascade.okf.lint.bundle_rules import check_bundle
from pecia.features.cascade.okf.lint.concept_rules import check_concept_advice, check_concept_errors
from pecia.features.cascade.okf.lint.findings import LintFinding, LintSeverity
from pecia.features.cascade.okf.lint.reserved_rules import check_index, check_log


def validate_bundle(bundle: OkfBundle, *, strict: bool = False) -> list[LintFinding]:
    """Errors only."""
    return [it for it in lint_bundle(bundle, strict=strict) if it.severity is LintSeverity.ERROR]


def lint_bundle(bundle: OkfBundle, *, strict: bool = False) -> list[LintFinding]:
    """Errors, warnings and advice."""
    return sorted([*_page_findings(bundle, strict=strict), *check_bundle(bundle)])


def _page_findings(bundle: OkfBundle, *, strict: bool) -> Iterator[LintFinding]:
    for path, page in bundle.pages.items():
        if not is_reserved(path):
            yield from check_concept_errors(page, strict=strict)
            yield from check_concept_advice(page, bundle.now)
        elif page.name.lower().startswith("index"):
            yield from check_index(page)
        else:
            yield from check_log(page)
