"""Names of documents and files from titles of other programs: valid on every system. Pure."""

import re
import unicodedata

MAX_PART_BYTES = 120
UNTITLED = "Untitled"
# Reserved on Windows, with any extension.
_DEVICES = re.compile(r"(?:con|prn|aux|nul|com\d|lpt\d)(?:\.|$)", re.IGNORECASE)
# What paths, links of wikis and file systems take for their own.
_SPECIAL = re.compile(r'[\\/:*?"<>|#^\[\]\x00-\x1f\x7f]+')
_SPACES = re.compile(r"\s+")


def safe_part(title: str, fallback: str = UNTITLED) -> str:
    """A title as one part of a path."""
    text = _SPECIAL.sub(" ", unicodedata.normalize("NFC", title))
    # Cf: marks that nobody sees, such as those that turn the direction of a name.
    text = "".join(it for it in text if unicodedata.category(it) not in ("Cc", "Cs", "Cf"))
    text = _SPACES.sub(" ", text).strip(" .")
    text = _shorten(text).strip(" .")
    if not text:
        return fallback
    return f"{text}_" if _DEVICES.match(text) else text


def safe_file_name(name: str, fallback: str = "file") -> str:
    """The same for a file: its extension stays, and Markdown is no attachment."""
    stem, dot, extension = name.rpartition(".")
    if not dot or not re.fullmatch(r"[A-Za-z0-9]{1,10}", extension):
        stem, extension = name, ""
    if extension.lower() in ("md", "mdx"):
        extension += ".txt"
    part = safe_part(stem, fallback)
    return f"{part}.{extension}" if extension else part


def _shorten(text: str) -> str:
    body = text.encode()
    return text if len(body) <= MAX_PART_BYTES else body[:MAX_PART_BYTES].decode(errors="ignore")


class UniqueNames:
    """Names that no other has, in any case and normal form. The first keeps its own."""

    def __init__(self) -> None:
        self._taken: set[str] = set()

    def claim(self, path: str, *, extension: str = "") -> str:
        """The path, with a number behind it where it is taken."""
        number, found = 1, path
        while self._key(found + extension) in self._taken:
            number += 1
            found = f"{path} {number}"
        self._taken.add(self._key(found + extension))
        return found + extension

    def claim_file(self, path: str) -> str:
        """The same for a file, whose number comes before its extension."""
        folder, slash, leaf = path.rpartition("/")
        stem, dot, extension = leaf.rpartition(".")
        if not dot or not stem:
            return self.claim(path)
        return self.claim(f"{folder}{slash}{stem}", extension=f".{extension}")

    @staticmethod
    def _key(path: str) -> str:
        return unicodedata.normalize("NFC", path).casefold()
