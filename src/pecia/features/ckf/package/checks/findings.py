"""Findings of the package checks, and their rules. The codes are stable; clients act on them."""

from dataclasses import dataclass
from enum import StrEnum

from pecia.kernel.errors import Json


class FindingSeverity(StrEnum):
    ERROR = "error"
    WARNING = "warning"


@dataclass(frozen=True, slots=True)
class FindingRule:
    code: str
    severity: FindingSeverity
    summary: str
    hint: str


@dataclass(frozen=True, slots=True)
class PackageFinding:
    """One finding. `path` is a JSON pointer into the document."""

    code: str
    severity: FindingSeverity
    path: str
    message: str
    section: str = ""
    item_id: str = ""
    expected: Json = None
    got: Json = None

    @property
    def hint(self) -> str:
        return FINDING_RULES[self.code].hint

    def to_json(self) -> dict[str, Json]:
        """Fields without a value are left out."""
        found: dict[str, Json] = {"code": self.code, "path": self.path, "message": self.message}
        more: dict[str, Json] = {
            "section": self.section or None,
            "item_id": self.item_id or None,
            "expected": self.expected,
            "got": self.got,
            "hint": self.hint,
        }
        return found | {key: it for key, it in more.items() if it is not None}


@dataclass(frozen=True, slots=True)
class DocumentPath:
    """A position in the document, as a JSON pointer."""

    path: str
    section: str = ""
    item_id: str = ""

    def child(self, step: str | int) -> "DocumentPath":
        # Hot path: called for every value of a package.
        name = step.replace("~", "~0").replace("/", "~1") if isinstance(step, str) else step
        return DocumentPath(f"{self.path}/{name}", self.section, self.item_id)

    def make_finding(
        self, code: str, message: str, *, expected: Json = None, got: Json = None
    ) -> PackageFinding:
        return PackageFinding(
            code,
            FINDING_RULES[code].severity,
            self.path,
            message,
            self.section,
            self.item_id,
            expected,
            got,
        )


_ERROR, _WARNING = FindingSeverity.ERROR, FindingSeverity.WARNING
FINDING_RULES = {
    it.code: it
    for it in (
        FindingRule(
            "SECTION_MISSING",
            _ERROR,
            "The header and all 22 sections are present.",
            "Add the section; an empty list or object will do.",
        ),
        FindingRule(
            "SECTION_TYPE",
            _ERROR,
            "A section is a list or an object, as the format says.",
            "Write the section as the expected kind.",
        ),
        FindingRule(
            "FIELD_MISSING",
            _ERROR,
            "Required fields are present and not empty.",
            "Fill in the field.",
        ),
        FindingRule(
            "FIELD_TYPE",
            _ERROR,
            "A field has the type that the format gives it.",
            "Write the value as the expected type.",
        ),
        FindingRule(
            "ENUM", _ERROR, "An enum field has an allowed value.", "Use one of the expected values."
        ),
        FindingRule(
            "ID_FORMAT",
            _ERROR,
            "An id is the prefix of its section, then words.",
            "Rename the id, here and where it is referred to.",
        ),
        FindingRule(
            "ID_DUPLICATE",
            _ERROR,
            "An id is unique in the whole package.",
            "Rename one of the two.",
        ),
        FindingRule(
            "REF_DANGLING",
            _ERROR,
            "A reference resolves to an item of the right section.",
            "Refer to an id that exists, or remove the reference.",
        ),
        FindingRule(
            "REF_BY_LABEL",
            _WARNING,
            "A reference is an id, not a label.",
            "Write the id of the item.",
        ),
        FindingRule(
            "CONFIDENCE_RANGE",
            _ERROR,
            "A score is between 0 and 1.",
            "Give a number from 0.00 to 1.00.",
        ),
        FindingRule(
            "CONFIDENCE_PRECISION",
            _WARNING,
            "A score has two decimals at most.",
            "Round to two decimals.",
        ),
        FindingRule(
            "CONFIDENCE_BAND",
            _WARNING,
            "The confidence fits its basis.",
            "Change the confidence or the basis.",
        ),
        FindingRule(
            "TRACE_MISSING",
            _ERROR,
            "Every item that is not synthesized has a trace row.",
            "Add a row to source_traceability, or mark the item as synthesized.",
        ),
        FindingRule(
            "TRACE_BASIS_MISMATCH",
            _WARNING,
            "A trace row has the basis of its item.",
            "Make extraction_type and source_basis the same.",
        ),
        FindingRule(
            "EXPLICIT_WITHOUT_QUOTE",
            _ERROR,
            "An explicit item quotes its source.",
            "Quote the source, or set the basis to inferred.",
        ),
        FindingRule(
            "EXCERPT_NOT_IN_SOURCE",
            _ERROR,
            "A quotation is in the source.",
            "Copy the words from the source.",
        ),
        FindingRule(
            "EXCERPT_TOO_LONG",
            _WARNING,
            "A quotation has at most 240 characters.",
            "Quote less, or split the quotation.",
        ),
        FindingRule(
            "LANGUAGE_TAG",
            _ERROR,
            "The language is a BCP 47 tag.",
            "Write a tag such as en or pt-BR.",
        ),
        FindingRule(
            "LANGUAGE_DRIFT",
            _WARNING,
            "Prose is in the language of the package.",
            "Translate the text, or change metadata.language.",
        ),
        FindingRule(
            "NUMERIC_DRIFT",
            _WARNING,
            "Numbers are in the source.",
            "Copy the number from the source.",
        ),
        FindingRule("NOT_NFC", _WARNING, "Text is in Unicode form NFC.", "Normalise the text."),
        FindingRule(
            "WHITESPACE",
            _WARNING,
            "Words are separated by single spaces.",
            "Remove the extra spaces.",
        ),
        FindingRule(
            "DOMAIN_OPEN",
            _WARNING,
            "The domain is one of the seven.",
            "Use one of the seven, and subdomains for the rest.",
        ),
        FindingRule(
            "STEP_ORDER", _WARNING, "Steps count from 1 without gaps.", "Number the steps again."
        ),
        FindingRule(
            "PROTOCOL_UNKNOWN", _WARNING, "The protocol version is known.", "Write ckf-1.0."
        ),
    )
}
