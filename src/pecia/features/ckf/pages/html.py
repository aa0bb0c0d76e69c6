"""HTML that is escaped by construction: everything but `Html` is escaped as text.

Knows no page. There is no way here to write a script or a style into a document.
"""

from collections.abc import Iterable
from html import escape
from typing import TypeAlias

VOID = frozenset(("br", "hr", "input", "link", "meta"))


class Html(str):
    """Markup that `tag` made, or that is a literal of ours."""

    __slots__ = ()


Piece: TypeAlias = "str | int | float | Iterable[Piece] | None"
"""Content of an element. None renders nothing."""

Attribute: TypeAlias = "str | int | float | bool | None"


def tag(name: str, /, *inside: Piece, **attributes: Attribute) -> Html:
    """One element. `class_` is `class`, and other underscores are hyphens."""
    start = f"<{name}{''.join(_attribute(*it) for it in attributes.items())}>"
    if name in VOID:
        return Html(start)
    return Html(f"{start}{join_html(*inside)}</{name}>")


def join_html(*pieces: Piece) -> Html:
    """The pieces one after the other, texts among them escaped."""
    return Html("".join(_markup(it) for it in pieces))


def _markup(piece: Piece) -> str:
    if piece is None:
        return ""
    if isinstance(piece, Html):
        return piece
    if isinstance(piece, (str, int, float)):
        return escape(str(piece))
    return join_html(*piece)


def _attribute(name: str, value: Attribute) -> str:
    if value is None or value is False:
        return ""
    shown = name.rstrip("_").replace("_", "-")
    return f" {shown}" if value is True else f' {shown}="{escape(str(value))}"'
