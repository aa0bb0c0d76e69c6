"""Inputs of the ckf tools. Names, bounds and defaults are the reference's."""

from enum import StrEnum
from typing import Annotated, Any, TypeAlias, cast

from pydantic import AliasChoices, BeforeValidator, Field, WithJsonSchema
from pydantic_core import PydanticKnownError

from pecia.features.ckf.package.codec.codec import PackageFormat
from pecia.kernel.tool.model import Input

MIN_TEXT_CHARS, MAX_TEXT_CHARS = 20, 200_000
MAX_DOCUMENT_CHARS = 2_000_000
LANGUAGE_PATTERN = r"^[A-Za-z]{2,8}(-[A-Za-z0-9]{1,8})*$"


class CompressionLevel(StrEnum):
    LIGHT = "light"
    STANDARD = "standard"
    DENSE = "dense"
    AGENTIC = "agentic"


def _object_or_text(value: object) -> object:
    if isinstance(value, str) and len(value) > MAX_DOCUMENT_CHARS:
        raise PydanticKnownError("string_too_long", {"max_length": MAX_DOCUMENT_CHARS})
    if not isinstance(value, (str, dict)):
        raise PydanticKnownError("dict_type")
    return cast(object, value)


# A union would name its branches in errors, instead of the argument.
PackageArgument: TypeAlias = Annotated[
    Any,
    BeforeValidator(_object_or_text),
    WithJsonSchema({"type": ["object", "string"]}),
]

ShortText: TypeAlias = Annotated[str, Field(max_length=300)]


class CompileInput(Input):
    text: str | None = Field(
        default=None,
        min_length=MIN_TEXT_CHARS,
        max_length=MAX_TEXT_CHARS,
        description="The source, 20 to 200,000 characters.",
    )
    uri: str | None = Field(
        default=None,
        min_length=1,
        max_length=2000,
        description="Instead of text: a file or document, pecia://file/…, or a concept, okf://….",
    )
    format: PackageFormat = Field(
        default=PackageFormat.JSON, description="Format of the output document."
    )
    language: str | None = Field(
        default=None,
        pattern=LANGUAGE_PATTERN,
        max_length=35,
        description="BCP 47; default: detected.",
    )
    source_type: ShortText = Field(default="article", description="article, policy, transcript, …")
    compression_level: CompressionLevel = Field(
        default=CompressionLevel.STANDARD, description="How much to keep; dense is shortest."
    )
    source_title: ShortText = ""
    source_author: ShortText = ""
    filename: ShortText = ""


class AnswerShape(Input):
    """What of a package agents are given. By default an outline, and a handle for the rest."""

    query: str = Field(
        default="", max_length=1000, description="Only the items that this question needs."
    )
    sections: list[str] = Field(
        default_factory=list[str],
        max_length=23,
        description="In place of the outline: sections in full, as `exceptions`; or `all`.",
    )
    max_tokens: int = Field(
        default=1500, ge=200, le=100_000, description="Of the outline, or of the answer to `query`."
    )


class CompileForAgent(CompileInput, AnswerShape):
    """The arguments for agents."""


class ParseInput(Input):
    document: str = Field(
        min_length=1,
        max_length=MAX_DOCUMENT_CHARS,
        validation_alias=AliasChoices("document", "text", "content"),
        description="A package as JSON, YAML or Markdown.",
    )
    format: PackageFormat | None = Field(default=None, description="Default: by name and content.")
    filename: ShortText = ""


class PackageParse(ParseInput, AnswerShape):
    """The arguments for agents."""


class SerializeInput(Input):
    package: PackageArgument = Field(
        description="The package, as an object or as JSON text, or its handle."
    )
    format: PackageFormat = PackageFormat.JSON


class SerializeForAgent(SerializeInput):
    """The arguments for agents."""

    sections: list[str] = Field(
        default_factory=list[str], max_length=23, description="Only these; default: all."
    )


class ValidateInput(Input):
    document: str | None = Field(
        default=None,
        min_length=1,
        max_length=MAX_DOCUMENT_CHARS,
        description="A package as JSON, YAML or Markdown.",
    )
    package: PackageArgument | None = Field(default=None, description="In place of document.")
    format: PackageFormat | None = None
    strict: bool = Field(default=True, description="Whether a missing trace is an error.")
    source_text: str | None = Field(
        default=None,
        max_length=MAX_DOCUMENT_CHARS,
        description="The source, to check quotations and numbers against.",
    )


class DiffInput(Input):
    a: PackageArgument = Field(description="The older: an object, a document, or a handle.")
    b: PackageArgument = Field(description="The newer.")
    ignore_volatile: bool = Field(
        default=True, description="Ignore the package's id, date and order of traces."
    )


class SliceInput(Input):
    package: PackageArgument = Field(description="An object, a document, or a handle.")
    query: str = Field(min_length=1, max_length=1000, description="The question to answer.")
    budget_tokens: int = Field(
        default=1500, ge=50, le=100_000, description="Never exceeded; four characters a token."
    )


class VerifyInput(Input):
    package: PackageArgument = Field(description="An object, a document, or a handle.")
    source_text: str | None = Field(
        default=None,
        max_length=MAX_DOCUMENT_CHARS,
        description="The current source; default: the sources that the package names.",
    )
    uri: str | None = Field(
        default=None,
        min_length=1,
        max_length=2000,
        description="Instead of source_text: the source's URI, anything you may read.",
    )


class ViewerUrlInput(Input):
    package: PackageArgument | None = Field(default=None, description="Embedded in the link.")
    url: str | None = Field(
        default=None,
        max_length=2000,
        description="Of a .ckf, .ckf.json, .ckf.yaml, .ckf.md or .json file, http or https.",
    )


class ExampleTopic(StrEnum):
    LEARNING = "learning"
    BUSINESS = "business"
    CLINICAL = "clinical"
    LEGAL = "legal"
    ENGINEERING = "engineering"
    SCIENTIFIC = "scientific"


class PostLanguage(StrEnum):
    EN = "en"
    PT = "pt"


class ExampleInput(Input):
    topic: ExampleTopic = ExampleTopic.LEARNING
    format: PackageFormat = PackageFormat.JSON


class SearchPosts(Input):
    query: str = Field(min_length=1, max_length=200)
    lang: PostLanguage = PostLanguage.EN
    limit: int = Field(default=10, ge=1, le=100)


class ExampleForAgent(ExampleInput, AnswerShape):
    """The arguments for agents."""


class FetchPost(Input):
    slug: str = Field(
        pattern=r"^[a-z0-9]+(-[a-z0-9]+)*$", max_length=200, description="From ckf.search_posts."
    )
    format: PackageFormat = PackageFormat.JSON
    version: int | None = Field(default=None, ge=1, description="Default: the newest.")


class FetchPostForAgent(FetchPost, AnswerShape):
    """The arguments for agents."""
