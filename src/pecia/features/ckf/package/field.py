"""The definition of one field of a package. The table of fields is in `fields.py`."""

from dataclasses import dataclass
from enum import StrEnum


class FieldRole(StrEnum):
    """The purpose of a field, for validator, sanitizer, diff and slice. Codecs ignore it."""

    ID = "id"
    REFERENCE = "reference"
    LABEL = "label"
    CLAUSE = "clause"
    PROSE = "prose"
    QUOTE = "quote"
    NUMBER = "number"
    CHOICE = "choice"
    # A value for machines (a date, a path, a hash): no language, no sentence.
    VALUE = "value"
    GROUP = "group"


class FieldShape(StrEnum):
    TEXT = "text"
    TEXTS = "texts"
    NUMBER = "number"
    INTEGER = "integer"
    RECORDS = "records"
    TEXT_OR_TEXTS = "text or texts"
    TEXTS_OR_RECORDS = "texts or records"
    INTEGER_OR_TEXT = "integer or text"


@dataclass(frozen=True, slots=True)
class PackageField:
    """One field. `extension`: ours, which other parsers of the format may ignore.

    An `open` enum allows other values than those listed. `fill`: the field gets its empty value if
    a document leaves it out.
    """

    name: str
    role: FieldRole
    shape: FieldShape = FieldShape.TEXT
    required: bool = False
    fill: bool = False
    extension: bool = False
    open: bool = False
    choices: tuple[str, ...] = ()
    targets: tuple[str, ...] = ()
    parts: tuple["PackageField", ...] = ()
    max_length: int | None = None
    minimum: int | None = None
    unit_scale: bool = False
    ordered: bool = False


class SectionKind(StrEnum):
    OBJECT = "object"
    ARRAY = "array"


@dataclass(frozen=True, slots=True)
class PackageSection:
    """One of the 22 sections, or the header. `identity`: the fields that identify an item."""

    key: str
    number: int
    title: str
    kind: SectionKind
    fields: tuple[PackageField, ...]
    prefixes: tuple[str, str, str] | None = None
    identity: tuple[str, ...] = ()
    other_titles: tuple[str, ...] = ()

    def find_field(self, name: str) -> PackageField | None:
        return next((it for it in self.fields if it.name == name), None)
