"""Inputs and outputs of the tools, named as in the reference."""

from typing import Annotated, Any, ClassVar, Literal, TypeAlias

from pydantic import ConfigDict, Field

from pecia.features.wiki.core.summary import MAX_SUMMARY_INPUT_CHARS
from pecia.features.wiki.tools.pagination import MAX_ROWS
from pecia.kernel.tool.model import Input, Output
from pecia.kernel.tool.plain_text import PlainText

MAX_PATH_CHARS = 1100
MAX_MARKDOWN_CHARS = 1_000_000

OptionalText: TypeAlias = str | None

# The URI of a file may have three characters for one of its path.
MAX_URI_CHARS = 4 * MAX_PATH_CHARS
DOC_NAME = Field(max_length=MAX_URI_CHARS, description="As `howto/vpn`, or the URI of a hit.")
SUMMARY_FIELD = Field(
    default=None,
    max_length=MAX_SUMMARY_INPUT_CHARS,
    description="The outcome; stored permanently: no secrets.",
)


EXPECTED_VERSION = Field(
    default=None,
    max_length=64,
    description="The `version` that was read: refused if the document is another now; `none` to "
    "create only.",
)
HEADING = Field(
    default=None,
    max_length=1000,
    description="Only this section, with those below it: `Setup > Linux`.",
)


SUGGEST = Field(
    default=False,
    description="Store it as a suggestion that others accept; the document stays as it is.",
)


class SpaceInput(Input):
    """The space; may be omitted if there is only one."""

    cwd: OptionalText = Field(default=None, max_length=4000)
    space: OptionalText = Field(default=None, max_length=200)


class ReadDocument(SpaceInput):
    path: str = Field(
        max_length=MAX_URI_CHARS, description="As `howto/vpn.md`, or the URI of a hit."
    )
    since: OptionalText = Field(default=None, max_length=200, description="Reserved.")
    offset: int = Field(
        default=0, ge=0, description="Start here: `nextOffset` of a truncated document."
    )
    limit: Annotated[int, Field(ge=1)] | None = Field(
        default=None, description="At most so many characters."
    )
    heading: OptionalText = HEADING


class WikiSearch(SpaceInput):
    query: str = Field(min_length=1, max_length=10_000)
    case_sensitive: bool = False
    mode: Literal["literal", "ranked"] = Field(
        default="literal", description="literal: exact text; ranked: best passages first."
    )


class Exec(SpaceInput):
    command: str = Field(max_length=10_000, description="Such as: grep -rn term . | head -20")


class ListingInput(SpaceInput):
    limit: int = Field(default=MAX_ROWS, ge=1, le=MAX_ROWS)
    cursor: OptionalText = Field(
        default=None, max_length=8000, description="`nextCursor` of the previous page."
    )


class ListDocuments(ListingInput):
    dir: OptionalText = Field(
        default=None, max_length=MAX_PATH_CHARS, description="Only below this."
    )


class DocumentInput(SpaceInput):
    docName: str = DOC_NAME


class LinksInput(ListingInput):
    docName: str = DOC_NAME


class GetHubs(SpaceInput):
    limit: int = Field(default=20, ge=1, le=MAX_ROWS)


class GetOrphans(ListingInput):
    mode: Literal["incoming", "outgoing", "both"] = "both"


class GetDeadLinks(ListingInput):
    sourceDocNames: list[str] | None = Field(
        default=None, max_length=10_000, description="Only links of these documents."
    )
    anchors: bool = Field(
        default=False, description="Also links to headings and blocks that do not exist."
    )


class GetContext(DocumentInput):
    depth: int = Field(default=1, ge=1, le=4, description="Over how many links.")
    limit: int = Field(default=50, ge=1, le=MAX_ROWS)


class GuardedInput(DocumentInput):
    expected_version: OptionalText = EXPECTED_VERSION
    summary: OptionalText = SUMMARY_FIELD


class SuggestibleInput(GuardedInput):
    suggest: bool = SUGGEST


class DeleteDocument(DocumentInput):
    expected_version: OptionalText = EXPECTED_VERSION


class DocumentWrite(Input):
    """One document of a batch."""

    docName: str = DOC_NAME
    markdown: PlainText = Field(
        min_length=1,
        max_length=MAX_MARKDOWN_CHARS,
        json_schema_extra={"unaudited": True},
    )
    position: Literal["append", "prepend", "replace"] = Field(
        default="append", description="Where it goes in a document that exists."
    )
    expected_version: OptionalText = EXPECTED_VERSION


class WriteDocument(DocumentWrite, SpaceInput):
    heading: OptionalText = HEADING
    summary: OptionalText = SUMMARY_FIELD
    suggest: bool = SUGGEST


class EditDocument(SpaceInput):
    docName: str = DOC_NAME
    find: str = Field(
        min_length=1,
        max_length=MAX_MARKDOWN_CHARS,
        json_schema_extra={"unaudited": True},
    )
    replace: PlainText = Field(max_length=MAX_MARKDOWN_CHARS, json_schema_extra={"unaudited": True})
    offset: Annotated[int, Field(ge=0)] | None = None
    occurrence: Annotated[int, Field(ge=1)] | None = None
    replace_all: bool = False
    heading: OptionalText = HEADING
    expected_version: OptionalText = EXPECTED_VERSION
    summary: OptionalText = SUMMARY_FIELD
    suggest: bool = SUGGEST


class RenameDocument(SpaceInput):
    docName: str = DOC_NAME
    newDocName: str = DOC_NAME
    expected_version: OptionalText = EXPECTED_VERSION
    summary: OptionalText = SUMMARY_FIELD


class RenameFolder(SpaceInput):
    fromFolder: str = Field(min_length=1, max_length=MAX_PATH_CHARS)
    toFolder: str = Field(min_length=1, max_length=MAX_PATH_CHARS)
    summary: OptionalText = SUMMARY_FIELD


class GetConfig(SpaceInput):
    path: list[str] | None = Field(
        default=None, max_length=20, description='Such as ["mcp", "tools"].'
    )


class SetConfig(SpaceInput):
    patch: dict[str, Any] = Field(description="Only what changes. null clears; arrays replace.")


class FrontmatterInput(Input):
    title: str | None = Field(default=None, max_length=1000)
    description: str | None = Field(default=None, max_length=10_000)
    tags: list[str] | None = Field(default=None, max_length=1000)


class FolderRuleInput(Input):
    match: str = Field(min_length=1, max_length=MAX_PATH_CHARS, description="A glob: `specs/**`.")
    frontmatter: FrontmatterInput
    new_match: str | None = Field(default=None, min_length=1, max_length=MAX_PATH_CHARS)
    template: str | None = Field(
        default=None,
        max_length=MAX_PATH_CHARS,
        description="The document that new ones there begin as; empty for none.",
    )


class SetFolderRule(SpaceInput):
    rules: list[FolderRuleInput] = Field(min_length=1, max_length=1000)


class WikiOutput(Output):
    """An output whose empty fields are omitted."""

    model_config: ClassVar[ConfigDict] = ConfigDict(frozen=True, extra="allow")


class PreviewedOutput(WikiOutput):
    previewUrl: str | None = None


class ListingOutput(WikiOutput):
    ui: dict[str, Any]
    cwd: str


class WikiSearchOut(ListingOutput):
    query: str
    matchCount: int
    fileCount: int
    truncated: bool
    results: list[dict[str, Any]]


class PagedOutput(ListingOutput):
    total: int = Field(description="Rows on all pages.")
    nextCursor: str | None = Field(description="The `cursor` of the next page; null at the end.")


class DocumentsOut(PagedOutput):
    documents: list[dict[str, Any]]


class BacklinksOut(PagedOutput):
    docName: str
    backlinks: list[dict[str, Any]]


class ForwardOut(PagedOutput):
    docName: str
    forwardLinks: list[dict[str, Any]]


class HubsOut(ListingOutput):
    hubs: list[dict[str, Any]]


class OrphansOut(PagedOutput):
    orphans: list[dict[str, Any]]


class DeadLinksOut(PagedOutput):
    """A row is one link; `deadLinks` has those of a page by target, so a target with many links
    may go on on the next page."""

    deadLinks: list[dict[str, Any]]


class ContextOut(ListingOutput):
    docName: str
    documents: list[dict[str, Any]]
    total: int = Field(description="Documents within that depth.")


class SuggestOut(ListingOutput):
    target: dict[str, Any]
    mentions: list[dict[str, Any]]
    truncated: bool


class ExecOut(ListingOutput):
    enrichedPaths: list[dict[str, Any]]
    stdout: str
    stdoutTruncated: bool


class DeletedOut(WikiOutput):
    ok: bool
    deletedDocNames: list[str]


class RenamedOut(WikiOutput):
    ok: bool
    renamed: list[dict[str, str]]
    rewrittenDocs: list[dict[str, Any]]


class ConfigOut(WikiOutput):
    value: Any = None
    exists: bool
    path: list[str]


class ConfigSetOut(WikiOutput):
    result: dict[str, Any]


class FlowOut(WikiOutput):
    """The steps are in the text."""
