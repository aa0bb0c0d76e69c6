"""`/compiler`: compiles a text of any length, to be viewed, saved or published."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from pydantic import ValidationError

from pecia.features.ckf.heuristic.long_text import compile_long_text
from pecia.features.ckf.library.header import PostVisibility
from pecia.features.ckf.model import CompileOptions, SourceText, today
from pecia.features.ckf.package.codec.codec import PackageFormat, encode_package
from pecia.features.ckf.package.model import Package
from pecia.features.ckf.package.normalize import compact_package
from pecia.features.ckf.pages import downloads
from pecia.features.ckf.pages.context import PageContext
from pecia.features.ckf.pages.forms import parse_form, render_failure, render_hidden, render_select
from pecia.features.ckf.pages.forms import render_field as labelled
from pecia.features.ckf.pages.html import Html, join_html, tag
from pecia.features.ckf.pages.layout import render_page
from pecia.features.ckf.pages.model_form import (
    compile_with_form_model,
    is_model_requested,
    render_model_fields,
)
from pecia.features.ckf.pages.viewer import render_package_page
from pecia.features.ckf.pages.views.package import PackagePage
from pecia.features.ckf.pages.views.pagination import FORM_ID, parse_portion
from pecia.features.ckf.tools.compile import progress_reporter, requested_language
from pecia.features.ckf.tools.compile_llm import MAX_LLM_SOURCE_CHARS
from pecia.features.ckf.tools.inputs import MIN_TEXT_CHARS, CompileInput, CompressionLevel
from pecia.kernel.compute.pool import compute
from pecia.kernel.errors import InternalError, OutOfRange, PayloadTooLarge, PeciaError
from pecia.kernel.feature import FeaturePage, FeatureRequest
from pecia.kernel.tool.argument_errors import argument_error

PAGE_PATH = "/compiler"
FORM_FIELDS = ("text", "uri", "source_title", "language", "compression_level", "filename")
# Pasted text may exceed the tool's limit, and is compiled in pieces.
MAX_PASTED_CHARS = 2_000_000


@dataclass(frozen=True, slots=True)
class CompiledWork:
    """A compiled text, with the model compiler's metrics if it was used."""

    source: SourceText
    package: Package
    metrics: Mapping[str, Any] = field(default_factory=dict[str, Any])
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class CompilerPage:
    context: PageContext

    async def form(self, ask: FeatureRequest) -> FeaturePage:
        """The empty form, or one with a source that was picked."""
        return render_page("Compiler", *_form(ask.query), here=PAGE_PATH)

    async def compile(self, ask: FeatureRequest) -> FeaturePage:
        form = parse_form(ask)
        try:
            if is_model_requested(form):
                return await self._by_model(ask, form)
            return await self._without(ask, form)
        except InternalError:
            raise
        except PeciaError as error:
            return render_page(
                "Compiler",
                render_failure(error),
                *_form(form),
                here=PAGE_PATH,
                status=error.code.http,
            )

    async def _without(self, ask: FeatureRequest, form: Mapping[str, str]) -> FeaturePage:
        done = await compile_form(self.context, ask, form)
        if wanted := form.get("as"):
            return await downloads.download_package(
                ask.caller, done.package, downloads.parse_format(wanted)
            )
        kept = [render_hidden(it, form[it]) for it in FORM_FIELDS if form.get(it)]
        again = tag("form", kept, id=FORM_ID, method="post", action=PAGE_PATH)
        shown = PackagePage(
            done.package,
            done.source.text,
            about=_about(done.source),
            actions=(_actions(again), _publish()),
            portion=parse_portion(form.get("part", "")),
        )
        return await render_package_page(ask.caller, shown, PAGE_PATH)

    async def _by_model(self, ask: FeatureRequest, form: Mapping[str, str]) -> FeaturePage:
        """A model's package is kept in the page: calling the model again would cost again."""
        done = await compile_form_with_model(self.context, ask, form)
        document = await compute(ask.caller.tenant_id, _json, done.package)
        kept = (render_hidden("document", document), render_hidden("source", done.source.text))
        again = tag("form", kept, id=FORM_ID, method="post", action="/viewer")
        about = join_html(
            _format_figures(done), (join_html(tag("br"), tag("small", it)) for it in done.warnings)
        )
        actions = (_actions(again), _publish())
        shown = PackagePage(done.package, done.source.text, about=about, actions=actions)
        return await render_package_page(ask.caller, shown)


async def compile_form(
    context: PageContext, ask: FeatureRequest, form: Mapping[str, str]
) -> CompiledWork:
    """Compile a form's text without a model."""
    context.require_may_work(ask)
    requested, source = await _source(context, ask, form)
    call = context.progress.open_call(ask, form.get("progress", ""))
    options = CompileOptions(compression_level=requested.compression_level, created_at=today())
    package = await compute(
        ask.caller.tenant_id, compile_long_text, source, options, report=progress_reporter(call)
    )
    return CompiledWork(source, package)


async def compile_form_with_model(
    context: PageContext, ask: FeatureRequest, form: Mapping[str, str]
) -> CompiledWork:
    """The same with the model that the form names."""
    context.require_may_work(ask)
    _, source = await _source(context, ask, form)
    made = await compile_with_form_model(context, ask, form, source)
    return CompiledWork(source, Package(made.package), made.metrics, tuple(made.warnings))


async def _source(
    context: PageContext, ask: FeatureRequest, form: Mapping[str, str]
) -> tuple[CompileInput, SourceText]:
    requested = _parse_input(form)
    text = form.get("text", "")
    if text.strip() or requested.uri is None:
        _require_size(text)
        title, language = requested.source_title, requested_language(requested)
        return requested, SourceText(text, title, filename=requested.filename, language=language)
    found = await context.read_source(ask.caller, requested.uri)
    title = requested.source_title or found.title
    return requested, replace(found, title=title, language=requested_language(requested))


def _require_size(text: str) -> None:
    length = len(text)
    if length < MIN_TEXT_CHARS:
        message = f'Field "text" is too short (min {MIN_TEXT_CHARS} chars, got {length})'
        raise OutOfRange(message, field="text", min=MIN_TEXT_CHARS, length=length)
    if length > MAX_PASTED_CHARS:
        raise PayloadTooLarge(
            f'Field "text" is too long (max {MAX_PASTED_CHARS} chars, got {length})',
            field="text",
            max=MAX_PASTED_CHARS,
            length=length,
            hint="Add the file to a source, and pick it there.",
        )


def _parse_input(form: Mapping[str, str]) -> CompileInput:
    fields = {it: form[it] for it in FORM_FIELDS if it != "text" and form.get(it, "").strip()}
    try:
        return CompileInput.model_validate(fields)
    except ValidationError as error:
        raise argument_error(error, CompileInput) from None


def _json(package: Package) -> str:
    return encode_package(Package(compact_package(package)), PackageFormat.JSON)


def _actions(again: Html) -> Html:
    return join_html(
        again,
        downloads.render_buttons(FORM_ID),
        tag("button", "Print", type="button", data_print=True, hidden=True),
        tag("a", "Another text", href=PAGE_PATH, class_="button"),
    )


def _format_figures(done: CompiledWork) -> str:
    known = done.metrics
    return (
        f"Compiled by {known['model']} of {known['provider']} in {known['chunks']} parts, "
        f"{known['duration_ms'] / 1000:.1f} s"
    )


def _about(source: SourceText) -> Html:
    summary = f"Compiled without a model from {len(source.text):,} characters"
    return join_html(summary, join_html(" of ", tag("code", source.uri)) if source.uri else ".")


def _form(form: Mapping[str, str]) -> tuple[Html, ...]:
    text, uri = form.get("text", ""), form.get("uri", "")
    area = tag(
        "textarea",
        f"\n{text}" if text else "",
        name="text",
        rows=14,
        maxlength=MAX_PASTED_CHARS,
        data_drop=True,
        placeholder="Paste a text, or drop a file here.",
    )
    picked = tag("input", name="uri", value=uri, placeholder="pecia://file/handbook/refunds.md")
    title = tag("input", name="source_title", value=form.get("source_title", ""), maxlength=300)
    language = tag("input", name="language", value=form.get("language", ""), size=8)
    level = form.get("compression_level") or CompressionLevel.STANDARD.value
    return (
        tag("h1", "Compile a text into knowledge"),
        tag("p", _INTRODUCTION, class_="about"),
        tag(
            "form",
            labelled("Text", area, "Plain text or Markdown, at least 20 characters."),
            tag(
                "p",
                tag("input", type="file", data_file=True, hidden=True, aria_label="A file"),
                class_="file",
            ),
            labelled("Or the address of a source", picked, _pick()),
            tag(
                "div",
                labelled("Title", title),
                labelled("Language", language, "else it is detected"),
                labelled(
                    "Density",
                    render_select(
                        "compression_level", [it.value for it in CompressionLevel], level
                    ),
                ),
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
            action=PAGE_PATH,
            class_="paper",
            data_work=True,
        ),
    )


_INTRODUCTION = (
    "Concepts, rules, exceptions and procedures, each with the words of the source behind it. No "
    "key and no model; the same text gives the same package on any day."
)


def _model(form: Mapping[str, str]) -> Html:
    words = f"Compile with a model: richer, slower, up to {MAX_LLM_SOURCE_CHARS:,} characters"
    button = tag("button", "Compile with a model", name="compiler", value="model", type="submit")
    return tag(
        "details",
        tag("summary", words),
        render_model_fields(form),
        tag("p", button),
        open=is_model_requested(form),
    )


def _pick() -> Html:
    return join_html(
        "Anything here that you may read: ", tag("a", "pick a file", href=f"{PAGE_PATH}/pick"), "."
    )


def _publish() -> Html:
    """Publishing is an ordinary tool call, made by the page's script."""
    slug = tag("input", name="slug", pattern="[a-z0-9]+(-[a-z0-9]+)*", maxlength=200)
    seen = render_select(
        "visibility", [it.value for it in PostVisibility], PostVisibility.TENANT.value
    )
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
            data_publish=FORM_ID,
            class_="row",
        ),
        tag(
            "noscript",
            tag("p", "Without scripts: save it, then run ", tag("code", "pecia ckf publish"), "."),
        ),
        class_="publish",
    )
