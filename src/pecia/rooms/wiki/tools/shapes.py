"""What the tools take and give, field by field as the reference has it."""

from typing import Annotated, Any, ClassVar, Literal, TypeAlias

from pydantic import ConfigDict, Field

from pecia.kernel.tool.model import Input, Output
from pecia.rooms.wiki.summary import LONGEST_GIVEN
from pecia.rooms.wiki.tools.parts import MOST_ROWS

LONGEST_PATH = 1100
MOST_MARKDOWN = 1_000_000

Words: TypeAlias = str | None

DOC = Field(max_length=LONGEST_PATH)
SUMMARY = Field(
    default=None, max_length=LONGEST_GIVEN, description="The outcome; kept for good: no secrets."
)


class Where(Input):
    """Which space is meant; nothing where there is only one."""

    cwd: Words = Field(default=None, max_length=4000)
    space: Words = Field(default=None, max_length=200)


class ReadDocument(Where):
    path: str = Field(max_length=LONGEST_PATH, description="With its extension.")
    since: Words = Field(default=None, max_length=200, description="Reserved.")
    offset: int = Field(
        default=0, ge=0, description="Go on there: `nextOffset` of a document that was cut."
    )


class Search(Where):
    query: str = Field(min_length=1, max_length=10_000)
    case_sensitive: bool = False
    mode: Literal["literal", "ranked"] = Field(
        default="literal", description="literal: lines that hold the words; ranked: best first."
    )


class Exec(Where):
    command: str = Field(max_length=10_000, description="Such as: grep -rn term . | head -20")


class ListDocuments(Where):
    dir: Words = Field(default=None, max_length=LONGEST_PATH, description="Only below this.")
    limit: int = Field(default=MOST_ROWS, ge=1, le=MOST_ROWS)
    cursor: Words = Field(
        default=None, max_length=4000, description="`nextCursor` of the page before."
    )


class OneDocument(Where):
    docName: str = DOC


class GetHubs(Where):
    limit: int = Field(default=20, ge=1)


class GetOrphans(Where):
    mode: Literal["incoming", "outgoing", "both"] = "both"


class GetDeadLinks(Where):
    sourceDocNames: list[str] | None = Field(
        default=None, max_length=10_000, description="Only links of these documents."
    )


class WriteDocument(Where):
    docName: str = DOC
    markdown: str = Field(
        min_length=1,
        max_length=MOST_MARKDOWN,
        json_schema_extra={"unaudited": True},
    )
    position: Literal["append", "prepend", "replace"]
    summary: Words = SUMMARY


class EditDocument(Where):
    docName: str = DOC
    find: str = Field(
        min_length=1,
        max_length=MOST_MARKDOWN,
        json_schema_extra={"unaudited": True},
    )
    replace: str = Field(max_length=MOST_MARKDOWN, json_schema_extra={"unaudited": True})
    offset: Annotated[int, Field(ge=0)] | None = None
    occurrence: Annotated[int, Field(ge=1)] | None = None
    replace_all: bool = False
    summary: Words = SUMMARY


class RenameDocument(Where):
    docName: str = DOC
    newDocName: str = DOC
    summary: Words = SUMMARY


class RenameFolder(Where):
    fromFolder: str = Field(min_length=1, max_length=LONGEST_PATH)
    toFolder: str = Field(min_length=1, max_length=LONGEST_PATH)
    summary: Words = SUMMARY


class GetConfig(Where):
    path: list[str] | None = Field(
        default=None, max_length=20, description='Such as ["mcp", "tools"].'
    )


class SetConfig(Where):
    patch: dict[str, Any] = Field(description="Only what changes. null clears; arrays replace.")


class Frontmatter(Input):
    title: str | None = Field(default=None, max_length=1000)
    description: str | None = Field(default=None, max_length=10_000)
    tags: list[str] | None = Field(default=None, max_length=1000)


class Rule(Input):
    match: str = Field(min_length=1, max_length=LONGEST_PATH, description="A glob: `specs/**`.")
    frontmatter: Frontmatter
    new_match: str | None = Field(default=None, min_length=1, max_length=LONGEST_PATH)


class SetFolderRule(Where):
    rules: list[Rule] = Field(min_length=1, max_length=1000)


class Open(Output):
    """An output with fields that are there only when they say something."""

    model_config: ClassVar[ConfigDict] = ConfigDict(frozen=True, extra="allow")


class Previewed(Open):
    previewUrl: str | None = None


class Listed(Open):
    ui: dict[str, Any]
    cwd: str


class SearchOut(Listed):
    query: str
    matchCount: int
    fileCount: int
    truncated: bool
    results: list[dict[str, Any]]


class DocumentsOut(Listed):
    documents: list[dict[str, Any]]
    total: int = Field(description="Documents and files on all pages.")
    nextCursor: str | None = Field(description="The `cursor` of the next page; null at the end.")


class BacklinksOut(Listed):
    docName: str
    backlinks: list[dict[str, Any]]


class ForwardOut(Listed):
    docName: str
    forwardLinks: list[dict[str, Any]]


class HubsOut(Listed):
    hubs: list[dict[str, Any]]


class OrphansOut(Listed):
    orphans: list[dict[str, Any]]


class DeadLinksOut(Listed):
    deadLinks: list[dict[str, Any]]


class SuggestOut(Listed):
    target: dict[str, Any]
    mentions: list[dict[str, Any]]
    truncated: bool


class ExecOut(Listed):
    enrichedPaths: list[dict[str, Any]]
    stdout: str
    stdoutTruncated: bool


class DeletedOut(Open):
    ok: bool
    deletedDocNames: list[str]


class RenamedOut(Open):
    ok: bool
    renamed: list[dict[str, str]]
    rewrittenDocs: list[dict[str, Any]]


class ConfigOut(Open):
    value: Any = None
    exists: bool
    path: list[str]


class ConfigSetOut(Open):
    result: dict[str, Any]


class FlowOut(Open):
    """The steps are in the text."""
