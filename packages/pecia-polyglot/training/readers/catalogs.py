"""Message catalogues (`.mo`): a string of a program with its translation."""

import gettext
import re
from collections.abc import Iterator
from pathlib import Path

from languages import language_of

from readers import Pair

_PLACE = re.compile(r"/([a-z]{2,3}(?:[_@.-]\w+)*)/LC_MESSAGES/[^/]+\.mo$")


def read(folder: Path, origin: str) -> Iterator[Pair]:
    """All catalogues below a folder, in the order of their paths."""
    for path in sorted(folder.rglob("*.mo")):
        found = _PLACE.search(str(path))
        language = language_of(found[1]) if found else None
        if language:
            for english, text in _messages(path):
                yield Pair(origin, language, english, text)


def _messages(path: Path) -> Iterator[tuple[str, str]]:
    try:
        with path.open("rb") as file:
            catalog: dict[object, str] = gettext.GNUTranslations(file)._catalog  # type: ignore[attr-defined]
    except (OSError, ValueError, LookupError, AttributeError):
        return
    for key, text in catalog.items():
        # A plural has a number beside its string; the singular is enough.
        if isinstance(key, tuple):
            if key[1] != 1:
                continue
            key = key[0]
        if key and text:
            yield str(key).split("\x04")[-1], text
