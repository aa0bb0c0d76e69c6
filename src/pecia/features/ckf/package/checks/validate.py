"""Runs all checks of a package. Changes nothing, and does not stop at the first error."""

from dataclasses import dataclass

from pecia.features.ckf.package.checks.findings import FindingSeverity, PackageFinding
from pecia.features.ckf.package.checks.links import check_links
from pecia.features.ckf.package.checks.shape import check_shape
from pecia.features.ckf.package.checks.source import check_source
from pecia.features.ckf.package.checks.text import check_text
from pecia.features.ckf.package.checks.trace import check_trace
from pecia.features.ckf.package.model import Item, Package


@dataclass(frozen=True, slots=True)
class ValidationResult:
    """Every finding, in the order of the document."""

    findings: tuple[PackageFinding, ...]

    @property
    def valid(self) -> bool:
        return not self.errors

    @property
    def errors(self) -> list[PackageFinding]:
        return [it for it in self.findings if it.severity is FindingSeverity.ERROR]

    @property
    def warnings(self) -> list[PackageFinding]:
        return [it for it in self.findings if it.severity is FindingSeverity.WARNING]


def validate_package(
    body: Item, *, strict: bool = True, source: str | None = None
) -> ValidationResult:
    """Check a document as it is, before defaults are filled in."""
    package = Package(body)
    found = [
        *check_shape(body),
        *check_links(package),
        *check_trace(package, strict=strict),
        *check_text(package),
        *(check_source(package, source) if source is not None else ()),
    ]
    return ValidationResult(tuple(found))
