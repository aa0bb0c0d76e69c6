"""Input of a compiler. Plain values: the caller has fetched and checked them."""

from dataclasses import dataclass

from pecia.features.ckf.package.model import NO_DATE


@dataclass(frozen=True, slots=True)
class SourceText:
    """One text and its metadata. Without a `language` the compiler detects it.

    `stored_language` is the store's value: used only where detection fails, so that the same text
    gives the same package wherever it is read.
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
    """`created_at` is an input, so that the same text gives the same bytes on any day."""

    source_type: str = "article"
    compression_level: str = "standard"
    created_at: str = NO_DATE
