"""A file's title in its own text. Pure.

The title is indexed and embedded with every chunk of its file. A chunk that repeats it as a heading
would count its words again, and outrank what the text says.
"""

from collections.abc import Iterable


def drop_title_heading(headings: Iterable[str], title: str) -> list[str]:
    """The headings but for one that is the title."""
    key = _key(title)
    return [it for it in headings if _key(it) != key]


def drop_title_line(text: str, title: str) -> str:
    """The text without a first line that is the title and no more, written as a heading or not."""
    body = text.lstrip()
    line, _, rest = body.partition("\n")
    if not title or _key(line.strip().lstrip("#").rstrip("#")) != _key(title):
        return text
    underline = rest.partition("\n")
    is_underlined = underline[0].strip() and not underline[0].strip().strip("=-")
    return (underline[2] if is_underlined else rest).lstrip("\n") or text


def _key(words: str) -> str:
    return " ".join(words.split()).casefold()
