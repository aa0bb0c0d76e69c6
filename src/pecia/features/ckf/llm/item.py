"""An item from the model or the source, before assembly. Pure."""

from dataclasses import dataclass
from typing import Literal, TypeAlias

from pecia.features.ckf.package.fields import SECTION_BY_KEY
from pecia.features.ckf.package.model import Item, text_of
from pecia.kernel.text.span import Span

ItemOrigin: TypeAlias = Literal["model", "text", "coverage", "promotion"]

EXPLICIT = "explicit"


@dataclass(slots=True, eq=False)
class ExtractedItem:
    """An item without an id. `quotes` are spans of the source; at least one is required.

    References are still names, or ids of the package that the item was taken from (`old_id`).
    """

    section: str
    fields: Item
    quotes: tuple[Span, ...]
    basis: str = EXPLICIT
    confidence: float = 1.0
    origin: ItemOrigin = "model"
    old_id: str = ""

    @property
    def words(self) -> str:
        """The text that identifies it."""
        named = SECTION_BY_KEY[self.section].identity
        return " ".join(it for it in (text_of(self.fields, name) for name in named) if it)
