"""What a converter makes of an export: documents, files, and everything that it left out."""

from collections.abc import Callable
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class ImportedNote:
    """`name` is the path of the document without its extension; `origin` its id in the source."""

    origin: str
    name: str
    markdown: str


@dataclass(frozen=True, slots=True)
class ImportedAttachment:
    """A file that notes link to. Read when it is needed: an export may have gigabytes."""

    origin: str
    path: str
    load: Callable[[], bytes]


@dataclass(slots=True)
class ConvertedExport:
    """The result of a conversion."""

    notes: list[ImportedNote] = field(default_factory=list[ImportedNote])
    attachments: list[ImportedAttachment] = field(default_factory=list[ImportedAttachment])
    dropped: list[dict[str, str]] = field(default_factory=list[dict[str, str]])

    def drop(self, item: str, reason: str) -> None:
        self.dropped.append({"item": item, "reason": reason})
