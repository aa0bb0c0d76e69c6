"""Templates: new documents made of one, and the list of those there are."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Any
from zoneinfo import ZoneInfo

from pydantic import Field

from pecia.features.wiki.config.folder_rules import find_template
from pecia.features.wiki.core.guard import NO_DOCUMENT, document_version
from pecia.features.wiki.core.metadata import DocumentMetadata
from pecia.features.wiki.core.names import parse_document_name, split_extension
from pecia.features.wiki.core.summary import parse_summary
from pecia.features.wiki.space import OpenSpace, Wiki, WikiDocument
from pecia.features.wiki.space_write import begin_space_write
from pecia.features.wiki.template.fill import (
    FilledTemplate,
    TemplateValues,
    fill_template,
    find_variables,
)
from pecia.features.wiki.tools.documents import listing_fields
from pecia.features.wiki.tools.edits import (
    build_write_result,
    encode_text,
    find_target,
    read_guarded,
    write_or_suggest,
)
from pecia.features.wiki.tools.schemas import (
    DOC_NAME,
    MAX_MARKDOWN_CHARS,
    MAX_PATH_CHARS,
    SUGGEST,
    SUMMARY_FIELD,
    ListingOutput,
    OptionalText,
    SpaceInput,
)
from pecia.kernel.errors import InvalidInput, Json, NotFound, PeciaError
from pecia.kernel.tool.call import Call
from pecia.kernel.tool.model import Content, TextContent, ToolResult
from pecia.kernel.tool.plain_text import PlainText

MAX_TEMPLATES = 200
MAX_NAMED = 20
MAX_VARIABLES = 100
MAX_VALUE_CHARS = 100_000
VariableName = Annotated[str, Field(min_length=1, max_length=200)]
VariableValue = Annotated[PlainText, Field(max_length=MAX_VALUE_CHARS)]


class CreateDocument(SpaceInput):
    docName: str = DOC_NAME
    template: OptionalText = Field(
        default=None,
        max_length=MAX_PATH_CHARS,
        description="One of list_templates; empty for none. Without it, that of the folder.",
    )
    title: OptionalText = Field(
        default=None, max_length=1000, description="Without it, the last part of the name."
    )
    variables: dict[VariableName, VariableValue] = Field(
        default_factory=dict,
        max_length=MAX_VARIABLES,
        description="Values of the template's own variables, by name.",
        json_schema_extra={"unaudited": True},
    )
    markdown: PlainText | None = Field(
        default=None,
        max_length=MAX_MARKDOWN_CHARS,
        description="Text in the place of {{content}}, or below the template.",
        json_schema_extra={"unaudited": True},
    )
    summary: OptionalText = SUMMARY_FIELD
    suggest: bool = SUGGEST


class ListTemplates(SpaceInput):
    docName: OptionalText = Field(
        default=None,
        max_length=MAX_PATH_CHARS,
        description="Of a document to be made: `default` is the template that it would get.",
    )


class TemplatesOut(ListingOutput):
    templates: list[dict[str, Any]]
    total: int
    default: str | None = None


@dataclass(frozen=True, slots=True)
class TemplateTools:
    """The handlers."""

    wiki: Wiki

    async def create_document(self, call: Call, ask: CreateDocument) -> ToolResult:
        """Create a document from a template, with title, date, time, author and variables of your
        own filled in. Refused if it exists. Without a template it has its title as a heading."""
        summary = parse_summary(ask.summary)
        opened = await self.wiki.open(call, ask.cwd, ask.space, ask.docName)
        name = opened.parse_name(ask.docName)
        async with begin_space_write(opened) as writer:
            path, target = await find_target(opened, writer, ask.docName, suggest=ask.suggest)
            await read_guarded(writer, name, path, NO_DOCUMENT, target=target)
            template = _choose_template(opened, ask.template, path)
            filled = await _fill(opened, template, name, ask)
            body = encode_text(filled.text)
            made = await write_or_suggest(writer, name, path, (None, body), summary, target)
        fields: dict[str, Json] = {"template": template.name if template else None}
        if filled.unfilled:
            fields["unfilled"] = [*filled.unfilled]
        if made is not None:
            done = made.result(opened, summary)
            assert isinstance(done.structured, dict)
            return ToolResult({**done.structured, **fields}, done.content)
        document = await opened.restat(name, path)
        fields |= {"docName": name, "path": opened.prefix + path, "created": True}
        fields["version"] = document_version(body)
        done = await build_write_result(opened.with_document(document), document, fields, summary)
        return ToolResult(done.structured, _with_template_note(done.content, template, filled))

    async def list_templates(self, call: Call, ask: ListTemplates) -> ToolResult:
        """The templates of the space, with the folders that use them and the variables to give to
        create_document."""
        opened = await self.wiki.open_early(call, ask.cwd, ask.space, ask.docName)
        config = opened.settings.config
        found = _list_templates(opened)
        shown = found[:MAX_TEMPLATES]
        facts = await opened.load_metadata_of(shown)
        rows: list[Json] = [
            await _template_row(opened, it, facts.get(it.name, DocumentMetadata())) for it in shown
        ]
        fields: dict[str, Json] = {"templates": rows, "total": len(found)}
        if ask.docName is not None:
            path = _path_of(opened.parse_path(ask.docName))
            fields["default"] = find_template(config.folders, opened.prefix + path)
        there = {it.name for it in found}
        missing: list[Json] = [
            {"match": it.match, "template": it.template}
            for it in config.folders
            if it.template and it.template not in there
        ]
        if missing:
            fields["missing"] = missing
        opened.record_returned([it.path for it in shown])
        return ToolResult({**fields, **listing_fields(opened)})


def _list_templates(opened: OpenSpace) -> list[WikiDocument]:
    names = opened.template_names
    found = [it for it in opened.documents.values() if it.name in names]
    return sorted(found, key=lambda it: it.name)


async def _template_row(opened: OpenSpace, it: WikiDocument, facts: DocumentMetadata) -> Json:
    config = opened.settings.config
    try:
        variables = find_variables(await opened.text(it))
    except PeciaError:
        # Deleted meanwhile, or not text: it is listed all the same, and create_document says why.
        variables = []
    return {
        "name": opened.template_names.shorten(it.name),
        "docName": it.name,
        "path": opened.prefix + it.path,
        "description": facts.description,
        "variables": [*variables],
        "folders": [rule.match for rule in config.folders if rule.template == it.name],
        **opened.preview.link(it.name),
    }


def _choose_template(opened: OpenSpace, asked: str | None, path: str) -> WikiDocument | None:
    """The one that was asked for, or that of the folder."""
    config = opened.settings.config
    if asked is None:
        named = find_template(config.folders, opened.prefix + path)
        return None if named is None else _find(opened, named, "a folder rule names the template")
    return _find(opened, asked, "no template") if asked else None


def _find(opened: OpenSpace, asked: str, what: str) -> WikiDocument:
    """By its name, with the folder of templates or without; any document can be one."""
    wanted = opened.parse_name(asked, "template")
    names = opened.template_names
    short = {names.shorten(it.name): it for it in _list_templates(opened)}
    found = short.get(wanted) or opened.documents.get(wanted)
    if found is None:
        folded = [it for name, it in short.items() if name.casefold() == wanted.casefold()]
        found = folded[0] if len(folded) == 1 else None
    if found is None:
        tail = ", which does not exist" if what.startswith("a folder") else ""
        raise NotFound(
            f"{what} {wanted!r}{tail}",
            field="template",
            got=wanted,
            allowed=[*sorted(short)[:MAX_NAMED]],
            hint='list_templates has all of them; template "" creates the document without one.',
        )
    return found


async def _fill(
    opened: OpenSpace, template: WikiDocument | None, name: str, ask: CreateDocument
) -> FilledTemplate:
    title = ask.title if ask.title is not None else name.rpartition("/")[2]
    if not title.isprintable() or not title.strip():
        raise InvalidInput(
            f"a title is one line of text, not {title[:200]!r}", field="title", got=title[:200]
        )
    if template is None:
        text = ask.markdown if ask.markdown else f"# {title}\n"
        return FilledTemplate(text, ())
    zone = opened.settings.config.templates.timezone
    now = datetime.now(ZoneInfo(zone)) if zone else datetime.now().astimezone()
    given = {it.lower(): value for it, value in ask.variables.items()}
    values = TemplateValues(name, title, opened.call.caller.user, now, given)
    return fill_template(await opened.text(template), values, ask.markdown)


def _with_template_note(
    content: Sequence[Content], template: WikiDocument | None, filled: FilledTemplate
) -> tuple[Content, ...]:
    """The same for clients that read no structured fields, in one text: some join texts as they
    are."""
    if template is None:
        return (*content,)
    open_ = f" Not filled in: {', '.join(filled.unfilled)}." if filled.unfilled else ""
    note = f"It was made of the template {template.name}.{open_}"
    texts = [it.text for it in content if isinstance(it, TextContent)]
    others = [it for it in content if not isinstance(it, TextContent)]
    return (TextContent("\n".join((*texts, note))), *others)


def _path_of(given: str) -> str:
    return parse_document_name(given) + (split_extension(given)[1].lower() or ".md")
