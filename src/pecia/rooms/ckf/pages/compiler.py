"""`/compiler`: a text of any length becomes a package, to be read, saved or published."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from pydantic import ValidationError

from pecia.kernel.compute.pool import compute
from pecia.kernel.errors import InternalError, OutOfRange, PayloadTooLarge, PeciaError
from pecia.kernel.room import Ask, Page
from pecia.kernel.tool.complaints import bad_argument
from pecia.rooms.ckf.compiling import asked_language, reporter
from pecia.rooms.ckf.heuristic.long import compile_long
from pecia.rooms.ckf.inputs import SHORTEST_TEXT, Compile, Level
from pecia.rooms.ckf.library_head import Visibility
from pecia.rooms.ckf.llm.tool import LONGEST_SOURCE
from pecia.rooms.ckf.options import CompileOptions, SourceText
from pecia.rooms.ckf.package.codec import Format, encode
from pecia.rooms.ckf.package.model import Package
from pecia.rooms.ckf.package.normal import compact
from pecia.rooms.ckf.pages import downloads
from pecia.rooms.ckf.pages.asking import compiled_by_model, is_wanted, model_fields
from pecia.rooms.ckf.pages.desk import Desk
from pecia.rooms.ckf.pages.forms import choice, fields_of, hidden, refusal
from pecia.rooms.ckf.pages.forms import field as labelled
from pecia.rooms.ckf.pages.frame import framed
from pecia.rooms.ckf.pages.html import Html, joined, tag
from pecia.rooms.ckf.pages.package_view import Shown
from pecia.rooms.ckf.pages.portion import FORM, asked_portion
from pecia.rooms.ckf.pages.viewer import rendered

HERE = "/compiler"
GIVEN = ("text", "uri", "source_title", "language", "compression_level", "filename")
# What is pasted may be longer than what a tool takes, and is compiled in pieces.
LONGEST_PASTED = 2_000_000


@dataclass(frozen=True, slots=True)
class Work:
    """A text that was read and compiled, and what the model's compiler said of it, if it did."""

    source: SourceText
    package: Package
    metrics: Mapping[str, Any] = field(default_factory=dict[str, Any])
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class CompilerPage:
    desk: Desk

    async def form(self, ask: Ask) -> Page:
        """The empty form, or one with a source that was picked."""
        return framed("Compiler", *_form(ask.query), here=HERE)

    async def compile(self, ask: Ask) -> Page:
        form = fields_of(ask)
        try:
            if is_wanted(form):
                return await self._by_model(ask, form)
            return await self._without(ask, form)
        except InternalError:
            raise
        except PeciaError as error:
            return framed(
                "Compiler", refusal(error), *_form(form), here=HERE, status=error.code.http
            )

    async def _without(self, ask: Ask, form: Mapping[str, str]) -> Page:
        done = await compiled(self.desk, ask, form)
        if wanted := form.get("as"):
            return await downloads.saved(ask.caller, done.package, downloads.format_of(wanted))
        kept = [hidden(it, form[it]) for it in GIVEN if form.get(it)]
        again = tag("form", kept, id=FORM, method="post", action=HERE)
        shown = Shown(
            done.package,
            done.source.text,
            about=_about(done.source),
            actions=(_actions(again), _publish()),
            portion=asked_portion(form.get("part", "")),
        )
        return await rendered(ask.caller, shown, HERE)

    async def _by_model(self, ask: Ask, form: Mapping[str, str]) -> Page:
        """What a model made is kept in the page: to ask it again would cost again."""
        done = await modelled(self.desk, ask, form)
        document = await compute(ask.caller.tenant_id, _json, done.package)
        kept = (hidden("document", document), hidden("source", done.source.text))
        again = tag("form", kept, id=FORM, method="post", action="/viewer")
        about = joined(_told(done), (joined(tag("br"), tag("small", it)) for it in done.warnings))
        actions = (_actions(again), _publish())
        shown = Shown(done.package, done.source.text, about=about, actions=actions)
        return await rendered(ask.caller, shown)


async def compiled(desk: Desk, ask: Ask, form: Mapping[str, str]) -> Work:
    """What a form asks for, without a model."""
    desk.let_work(ask)
    asked, source = await _source(desk, ask, form)
    call = desk.works.heard(ask, form.get("progress", ""))
    options = CompileOptions(compression_level=asked.compression_level)
    package = await compute(
        ask.caller.tenant_id, compile_long, source, options, report=reporter(call)
    )
    return Work(source, package)


async def modelled(desk: Desk, ask: Ask, form: Mapping[str, str]) -> Work:
    """The same with the model that the form names."""
    desk.let_work(ask)
    _, source = await _source(desk, ask, form)
    made = await compiled_by_model(desk, ask, form, source)
    return Work(source, Package(made.package), made.metrics, tuple(made.warnings))


async def _source(desk: Desk, ask: Ask, form: Mapping[str, str]) -> tuple[Compile, SourceText]:
    asked = _asked(form)
    text = form.get("text", "")
    if text.strip() or asked.uri is None:
        _bounded(text)
        title, language = asked.source_title, asked_language(asked)
        return asked, SourceText(text, title, filename=asked.filename, language=language)
    found = await desk.read_source(ask.caller, asked.uri)
    title = asked.source_title or found.title
    return asked, replace(found, title=title, language=asked_language(asked))


def _bounded(text: str) -> None:
    length = len(text)
    if length < SHORTEST_TEXT:
        message = f'Field "text" is too short (min {SHORTEST_TEXT} chars, got {length})'
        raise OutOfRange(message, field="text", min=SHORTEST_TEXT, length=length)
    if length > LONGEST_PASTED:
        raise PayloadTooLarge(
            f'Field "text" is too long (max {LONGEST_PASTED} chars, got {length})',
            field="text",
            max=LONGEST_PASTED,
            length=length,
            hint="Add the file to a source, and pick it there.",
        )


def _asked(form: Mapping[str, str]) -> Compile:
    given = {it: form[it] for it in GIVEN if it != "text" and form.get(it, "").strip()}
    try:
        return Compile.model_validate(given)
    except ValidationError as error:
        raise bad_argument(error, Compile) from None


def _json(package: Package) -> str:
    return encode(Package(compact(package)), Format.JSON)


def _actions(again: Html) -> Html:
    return joined(
        again,
        downloads.buttons(FORM),
        tag("button", "Print", type="button", data_print=True, hidden=True),
        tag("a", "Another text", href=HERE, class_="button"),
    )


def _told(done: Work) -> str:
    known = done.metrics
    return (
        f"Compiled by {known['model']} of {known['provider']} in {known['chunks']} parts, "
        f"{known['duration_ms'] / 1000:.1f} s"
    )


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
        maxlength=LONGEST_PASTED,
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
            labelled("Text", area, "Plain text or Markdown, at least 20 characters."),
            tag("p", tag("input", type="file", data_file=True, hidden=True), class_="file"),
            labelled("Or the address of a source", picked, _pick()),
            tag(
                "div",
                labelled("Title", title),
                labelled("Language", language, "else it is detected"),
                labelled("Density", choice("compression_level", [it.value for it in Level], level)),
                class_="row",
            ),
            tag(
                "p",
                tag("button", "Compile", type="submit", class_="primary"),
                " ",
                tag("progress", hidden=True, data_progress=True),
                " ",
                tag("output", name="told"),
            ),
            _model(form),
            method="post",
            action=HERE,
            class_="paper",
            data_work=True,
        ),
    )


_INTRODUCTION = (
    "Concepts, rules, exceptions and procedures, each with the words of the source behind it. No "
    "key and no model; the same text gives the same package on any day."
)


def _model(form: Mapping[str, str]) -> Html:
    words = f"Compile with a model: richer, slower, up to {LONGEST_SOURCE:,} characters"
    button = tag("button", "Compile with a model", name="compiler", value="model", type="submit")
    return tag(
        "details", tag("summary", words), model_fields(form), tag("p", button), open=is_wanted(form)
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
            labelled("Slug", slug, "else made of the title"),
            labelled("Title", tag("input", name="title", maxlength=300), "else that of the source"),
            labelled("Tags", tag("input", name="tags"), "separated by commas"),
            labelled("Who may read it", seen),
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
