"""A space as its exported files: documents as text, other files by their paths. Pure."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

from pecia.features.wiki.core.document import decode_any_charset, decode_utf8
from pecia.features.wiki.core.graph import build_link_names
from pecia.features.wiki.core.metadata import DocumentMetadata, parse_metadata
from pecia.features.wiki.core.names import EXTENSIONS, split_extension
from pecia.features.wiki.transfer.standard_links import LinkTargets, index_files


@dataclass(frozen=True, slots=True)
class ExportedDocument:
    name: str
    path: str
    text: str
    facts: DocumentMetadata

    @property
    def title(self) -> str:
        return self.facts.display_title(self.name.rpartition("/")[2])


@dataclass(slots=True)
class ExportReport:
    """What is not in an export as it is in the space, with the reason."""

    dropped: list[dict[str, str]] = field(default_factory=list[dict[str, str]])
    changed: list[dict[str, str]] = field(default_factory=list[dict[str, str]])

    def drop(self, path: str, reason: str) -> None:
        self.dropped.append({"path": path, "reason": reason})

    def change(self, path: str, reason: str) -> None:
        self.changed.append({"path": path, "reason": reason})


@dataclass(frozen=True, slots=True)
class ExportedSpace:
    """`files` are the paths of those that are no documents."""

    documents: Mapping[str, ExportedDocument]
    files: Mapping[str, None]

    def targets(
        self, pages: Mapping[str, str], anchor: Callable[[str], str] | None = None
    ) -> LinkTargets:
        """What links lead to, where the documents are exported as these files."""
        names = build_link_names({name: it.facts for name, it in self.documents.items()})
        return LinkTargets(names, pages, index_files(self.files), anchor or (lambda it: it))


def read_documents(bodies: Mapping[str, bytes], files: Iterable[str]) -> ExportedSpace:
    """The documents among these files. Of two files of one name the first extension counts."""
    documents: dict[str, ExportedDocument] = {}
    others = dict.fromkeys(files)
    for extension in EXTENSIONS:
        for path, body in bodies.items():
            name, found = split_extension(path)
            if found.lower() != extension:
                continue
            text = decode_any_charset(body)
            if name in documents or text is None:
                others[path] = None
                continue
            documents[name] = ExportedDocument(name, path, text, parse_metadata(text))
    return ExportedSpace(dict(sorted(documents.items())), others)


def is_recoded(body: bytes) -> bool:
    """Whether the text of a document is written in another charset than it came in."""
    return decode_utf8(body) is None


def free_path(path: str, taken: Iterable[str]) -> str:
    """The path, with a number where a file has that name, in any case."""
    used = {it.casefold() for it in taken}
    stem, dot, extension = path.rpartition(".")
    number, found = 1, path
    while found.casefold() in used:
        number += 1
        found = f"{stem}-{number}{dot}{extension}"
    return found
