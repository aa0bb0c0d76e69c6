"""What a compiler is given. Plain values: whoever calls has already fetched and checked them."""

from dataclasses import dataclass

from pecia.features.ckf.package.model import NO_DATE


@dataclass(frozen=True, slots=True)
class SourceText:
    """One text and what is known of it. Without a `language` the compiler looks for it itself.

    `stored_language` is what a store says of it: it counts where the text itself does not tell, so
    that the same words give the same package, wherever they are read.
    """

    text: str
    title: str = ""
    uri: str = ""
    language: str | None = None
    author: str = ""
    filename: str = ""
    revision: str = ""
    stored_language: str = ""


@dataclass(frozen=True, slots=True)
class CompileOptions:
    """`created_at` is handed in, so that the same text gives the same bytes on any day."""

    source_type: str = "article"
    compression_level: str = "standard"
    created_at: str = NO_DATE
