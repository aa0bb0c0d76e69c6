"""`/compiler`: a text becomes a package, to be read, saved or published. No model, no waiting."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial

import anyio.to_thread
from pydantic import ValidationError

from pecia.kernel.errors import BadArgument, NotFound, PeciaError
from pecia.kernel.identity.caller import Caller
from pecia.kernel.room import Ask, Page
from pecia.kernel.tool.validate import bad_argument
from pecia.rooms.ckf.heuristic.long import compile_long
from pecia.rooms.ckf.inputs import LONGEST_TEXT, Compile, Level
from pecia.rooms.ckf.library_head import Visibility
from pecia.rooms.ckf.options import CompileOptions, SourceText
from pecia.rooms.ckf.package.model import Package
from pecia.rooms.ckf.pages import downloads
from pecia.rooms.ckf.pages.desk import Desk
from pecia.rooms.ckf.pages.forms import choice, complaint, field, fields_of, hidden
from pecia.rooms.ckf.pages.frame import framed
from pecia.rooms.ckf.pages.html import Html, joined, tag
from pecia.rooms.ckf.pages.package_view import Shown
from pecia.rooms.ckf.pages.viewer import FORM, rendered

HERE = "/compiler"
GIVEN = ("text", "uri", "source_title", "language", "compression_level", "filename")


@dataclass(frozen=True, slots=True)
class Work:
    """A text that was read and compiled, with the form that asked for it."""

    source: SourceText
    package: Package
    form: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class CompilerPage:
    desk: Desk

    async def form(self, ask: Ask) -> Page:
        """The empty form, or one with a source that was picked."""
        return framed("Compiler", *_form(ask.query), here=HERE)

    async def compile(self, ask: Ask) -> Page:
        form = fields_of(ask)
        try:
            done = await compiled(self.desk, ask.caller, form)
        except (BadArgument, NotFound) as error:
            return _refused(form, error)
        if wanted := form.get("as"):
            return await downloads.saved(done.package, downloads.format_of(wanted))
        kept = [hidden(it, form[it]) for it in GIVEN if form.get(it)]
        actions = joined(
            tag("form", kept, id=FORM, method="post", action=HERE),
            downloads.buttons(FORM),
            tag("button", "Print", type="button", data_print=True, hidden=True),
            tag("a", "Another text", href=HERE, class_="button"),
        )
        shown = Shown(
            done.package, done.source.text, about=_about(done.source), actions=(actions, _publish())
        )
        return await rendered(shown, HERE)


async def compiled(desk: Desk, caller: Caller, form: Mapping[str, str]) -> Work:
    """What a form asks for. The bounds are those of the tool."""
    desk.let_work(caller)
    ask = _asked(form)
    if ask.text is not None:
        source = SourceText(
            ask.text, ask.source_title, filename=ask.filename, language=ask.language
        )
    else:
        found = await desk.read_source(caller, ask.uri or "")
        source = SourceText(
            found.text,
            ask.source_title or found.title,
            found.uri,
            ask.language or found.language,
            filename=found.filename,
            revision=found.revision,
        )
    options = CompileOptions(compression_level=ask.compression_level)
    work = partial(compile_long, source, options, piece_chars=LONGEST_TEXT)
    return Work(source, await anyio.to_thread.run_sync(work), form)


def _asked(form: Mapping[str, str]) -> Compile:
    given = {it: form[it] for it in GIVEN if form.get(it, "").strip()}
    if not given.keys() & {"text", "uri"}:
        given["text"] = ""
    try:
        return Compile.model_validate(given)
    except ValidationError as error:
        raise bad_argument(error, Compile) from None


def _refused(form: Mapping[str, str], error: PeciaError) -> Page:
    main = (complaint(error.message), *_form(form))
    return framed("Compiler", *main, here=HERE, status=error.code.http)


def _about(source: SourceText) -> Html:
    told = f"Compiled without a model from {len(source.text):,} characters"
    return joined(told, joined(" of ", tag("code", source.uri)) if source.uri else ".")


def _form(form: Mapping[str, str]) -> tuple[Html, ...]:
    text, uri = form.get("text", ""), form.get("uri", "")
    area = tag(
        "textarea",
        f"\n{text}" if text else "",
        name="text",
        rows=14,
        maxlength=LONGEST_TEXT,
        data_drop=True,
        placeholder="Paste a text, or drop a file here.",
    )
    picked = tag("input", name="uri", value=uri, placeholder="pecia://file/handbook/refunds.md")
    title = tag("input", name="source_title", value=form.get("source_title", ""), maxlength=300)
    language = tag("input", name="language", value=form.get("language", ""), size=8)
    level = form.get("compression_level") or Level.STANDARD.value
    return (
        tag("h1", "Compile a text into knowledge"),
        tag("p", _INTRODUCTION, class_="about"),
        tag(
            "form",
            field("Text", area, f"20 to {LONGEST_TEXT:,} characters of plain text or Markdown."),
            tag("p", tag("input", type="file", data_file=True, hidden=True), class_="file"),
            field("Or the address of a source", picked, _pick()),
            tag(
                "div",
                field("Title", title),
                field("Language", language, "else it is detected"),
                field("Density", choice("compression_level", [it.value for it in Level], level)),
                class_="row",
            ),
            tag("p", tag("button", "Compile", type="submit", class_="primary")),
            method="post",
            action=HERE,
            class_="paper",
        ),
    )


_INTRODUCTION = (
    "Concepts, rules, exceptions and procedures, each with the words of the source behind it. No "
    "key and no model; the same text gives the same package on any day."
)


def _pick() -> Html:
    return joined(
        "Anything here that you may read: ", tag("a", "pick a file", href=f"{HERE}/pick"), "."
    )


def _publish() -> Html:
    """Publishing is a tool call like any other, which the script of the pages makes."""
    slug = tag("input", name="slug", pattern="[a-z0-9]+(-[a-z0-9]+)*", maxlength=200)
    seen = choice("visibility", [it.value for it in Visibility], Visibility.TENANT.value)
    return tag(
        "details",
        tag("summary", "Publish"),
        tag(
            "form",
            field("Slug", slug, "else made of the title"),
            field("Title", tag("input", name="title", maxlength=300), "else that of the source"),
            field("Tags", tag("input", name="tags"), "separated by commas"),
            field("Who may read it", seen),
            tag("p", tag("button", "Publish", type="submit"), tag("output", name="told")),
            data_publish=FORM,
            class_="row",
        ),
        tag(
            "noscript",
            tag("p", "Without scripts: save it, then run ", tag("code", "pecia ckf publish"), "."),
        ),
        class_="publish",
    )
