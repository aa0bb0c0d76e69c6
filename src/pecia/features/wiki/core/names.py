"""Document names: a path from the content folder, without its extension. Pure."""

import re
import unicodedata
from collections.abc import Iterable, Mapping, Set
from dataclasses import dataclass
from urllib.parse import unquote

from pecia.kernel.corpus.file_uri import FileAddress, is_file_uri, parse_file_uri
from pecia.kernel.errors import Conflict, InvalidFormat, Json
from pecia.kernel.text.links.name_index import folder_of

EXTENSIONS = (".mdx", ".md")
"""In order of precedence: if both files exist, the first is the document."""
MAX_NAME_CHARS = 1000
MAX_PART_BYTES = 240
RESERVED = frozenset(("__system__", "__config__/project", "__user__/config.yml"))


def parse_document_name(text: str, field: str = "docName") -> str:
    """The normalized name, without an extension; an error if invalid."""
    if text.lower().endswith(".markdown"):
        raise _invalid_name(text, field, "documents end in .md or .mdx, not in .markdown")
    name = _EXTENSION.sub("", text)
    if why := find_path_problem(name):
        raise _invalid_name(text, field, why)
    if name in RESERVED or text in RESERVED:
        raise _invalid_name(text, field, "the name is reserved")
    return name


def parse_document_uri(text: str) -> FileAddress | None:
    """The file of a document that is given as a search shows it; None for a name or a path."""
    return parse_file_uri(text) if is_file_uri(text) else None


def require_new_name(name: str, field: str) -> None:
    """Refuse a name that looks like another one, or that not every system can have: a space is
    cloned to other machines. Files that have such a name stay readable and writable."""
    if found := _INVISIBLE.search(name):
        sign = f"U+{ord(found[0]):04X} ({unicodedata.name(found[0], 'a format control')})"
        raise _invalid_name(name, field, f"it must not contain {sign}, which nobody sees")
    parts = name.split("/")
    if any(it != it.rstrip() for it in parts):
        raise _invalid_name(name, field, "no part of it may end in a space, or be only spaces")
    for part in parts:
        if why := _find_portability_problem(part):
            raise _invalid_name(name, field, why)


@dataclass(frozen=True, slots=True)
class FoldedNames:
    """Documents and their folders by what they are called on disks that know neither case nor how
    accents are encoded, where two such names are one."""

    documents: Mapping[str, str]
    folders: Mapping[str, str]
    known: Set[str]
    """The folders as they are written."""

    @classmethod
    def of(cls, names: Iterable[str]) -> "FoldedNames":
        every = [*names]
        known: set[str] = set()
        for name in every:
            folder = folder_of(name)
            while folder and folder not in known:
                known.add(folder)
                folder = folder_of(folder)
        return cls({fold_name(it): it for it in every}, {fold_name(it): it for it in known}, known)

    def find_twin(self, name: str) -> str | None:
        """The document or folder that a new name, or a folder of it, would be one with."""
        folder, twin = folder_of(name), self.documents.get(fold_name(name))
        if not folder or folder in self.known:
            return twin
        while folder and folder not in self.known:
            twin = self.folders.get(fold_name(folder))
            folder = folder_of(folder)
        return twin


def require_no_twin(name: str, twin: str | None, **fields: Json) -> None:
    if twin is not None and twin != name:
        raise Conflict(
            f"{name!r} differs from {twin!r} only in case or in how its accents are encoded",
            hint="On many disks both are one. Use the name that is there, or another one.",
            **fields,
        )


def fold_name(text: str) -> str:
    """Equal for names that are one on some disks."""
    return text.casefold() if text.isascii() else unicodedata.normalize("NFC", text.casefold())


def parse_folder_name(text: str, field: str) -> str:
    """The path of a folder of documents."""
    if why := find_path_problem(text):
        raise _invalid_name(text, field, why)
    return text


def parse_file_path(text: str, field: str = "path") -> str:
    """A path from the root of the project, with an extension."""
    path = text.removeprefix("./")
    if why := find_path_problem(path, may_be_ours=True):
        raise _invalid_name(text, field, why)
    return path


def split_extension(path: str) -> tuple[str, str]:
    """The name and the extension of a document's file; empty if it is not a document."""
    found = _EXTENSION.search(path)
    return (path[: found.start()], found[0]) if found else (path, "")


def find_path_problem(path: str, *, may_be_ours: bool = False) -> str:
    """What is wrong with a relative path, or nothing."""
    parts = path.split("/")
    if not path or len(path) > MAX_NAME_CHARS:
        return f"it must have 1 to {MAX_NAME_CHARS} characters"
    if "\\" in path or any(unicodedata.category(it) in _REFUSED for it in path):
        return "it must not contain backslashes or control characters"
    if any(it in ("", ".", "..") for it in parts):
        return "it must be relative, without `.`, `..` and empty parts"
    if any(len(it.encode()) > MAX_PART_BYTES for it in parts):
        return f"no part of it may be longer than {MAX_PART_BYTES} bytes"
    if not may_be_ours and any(it.startswith(".") for it in parts):
        return "hidden files and folders are not for documents"
    return ""


def _find_portability_problem(part: str) -> str:
    """What is wrong with a part of a new name on other systems, or nothing."""
    if part.endswith("."):
        return "no part of it may end in a dot, which Windows removes"
    if part.partition(".")[0].rstrip().lower() in _WINDOWS_DEVICES:
        return f"{part!r} is the name of a device on Windows: no file can have it there"
    plain = unquote(part)
    if plain != part and (plain in (".", "..") or "/" in plain or "\\" in plain):
        return f"{part!r} is a path that is percent-encoded: names are written as they are"
    return ""


def _invalid_name(text: str, field: str, why: str) -> InvalidFormat:
    return InvalidFormat(f"Invalid {field}: {why}", field=field, got=text[:200])


_EXTENSION = re.compile(r"(?<=[^/])\.mdx?$", re.IGNORECASE)
_REFUSED = ("Cc", "Cs")
_PORTS = (f"{it}{digit}" for it in ("com", "lpt") for digit in "0123456789¹²³")
_WINDOWS_DEVICES = frozenset(("con", "prn", "aux", "nul", "conin$", "conout$", *_PORTS))
_INVISIBLE = re.compile(
    "[\u00ad\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb"
    "\U000e0000-\U000e007f]"
    # Joiners are part of Persian, Indic and emoji, where both neighbours are beyond ASCII.
    "|(?<![^\x00-\x7f])[\u200c\u200d]|[\u200c\u200d](?![^\x00-\x7f])"
)
