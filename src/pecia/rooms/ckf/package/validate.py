"""All checks of a package in one go. Nothing is mended, and nothing stops at the first fault."""

from dataclasses import dataclass

from pecia.rooms.ckf.package.check_links import check_links
from pecia.rooms.ckf.package.check_shape import check_shape
from pecia.rooms.ckf.package.check_source import check_source
from pecia.rooms.ckf.package.check_text import check_text
from pecia.rooms.ckf.package.check_trace import check_trace
from pecia.rooms.ckf.package.finding import Finding, Severity
from pecia.rooms.ckf.package.model import Item, Package


@dataclass(frozen=True, slots=True)
class Verdict:
    """Every finding, in the order of the document."""

    findings: tuple[Finding, ...]

    @property
    def valid(self) -> bool:
        return not self.errors

    @property
    def errors(self) -> list[Finding]:
        return [it for it in self.findings if it.severity is Severity.ERROR]

    @property
    def warnings(self) -> list[Finding]:
        return [it for it in self.findings if it.severity is Severity.WARNING]


def validate(body: Item, *, strict: bool = True, source: str | None = None) -> Verdict:
    """Checks a document as it is, before anything is filled in."""
    package = Package(body)
    found = [
        *check_shape(body),
        *check_links(package),
        *check_trace(package, strict=strict),
        *check_text(package),
        *(check_source(package, source) if source is not None else ()),
    ]
    return Verdict(tuple(found))
