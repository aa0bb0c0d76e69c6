"""`/compiler-heuristic-vs-llm`: two packages of one source, side by side, with the same figures.

The heuristic package is compiled here. The other comes from a model called now, or is pasted from
`ckf.compile_llm`.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from time import perf_counter
from typing import Any, cast

import anyio.to_thread

from pecia.features.ckf.examples.loader import (
    MODEL_CREATED_AT,
    MODEL_TOPIC,
    TOPICS,
    load_example_source,
    load_model_example,
)
from pecia.features.ckf.model import SourceText
from pecia.features.ckf.package.checks.validate import validate_package
from pecia.features.ckf.package.diff.diff import diff_bodies
from pecia.features.ckf.package.fields import ITEM_SECTIONS
from pecia.features.ckf.package.model import Package
from pecia.features.ckf.package.quality.inspect import inspect_package
from pecia.features.ckf.package.quality.quality import CompileContext, score_quality
from pecia.features.ckf.pages.compiler import CompiledWork, compile_form, compile_form_with_model
from pecia.features.ckf.pages.context import PageContext
from pecia.features.ckf.pages.forms import parse_form, render_failure, render_field
from pecia.features.ckf.pages.html import Html, Piece, join_html, tag
from pecia.features.ckf.pages.layout import render_page
from pecia.features.ckf.pages.model_form import is_model_requested, render_model_fields
from pecia.features.ckf.pages.views.inspection import key_figures
from pecia.features.ckf.pages.views.source import QuotedSource
from pecia.features.ckf.tools.arguments import parse_package_argument
from pecia.kernel.compute.pool import compute
from pecia.kernel.errors import InternalError, InvalidEnum, PeciaError
from pecia.kernel.feature import FeaturePage, FeatureRequest

PAGE_PATH = "/compiler-heuristic-vs-llm"
DASH = "–"


@dataclass(frozen=True, slots=True)
class ComparisonPage:
    context: PageContext

    async def show(self, ask: FeatureRequest) -> FeaturePage:
        """One of the examples, compiled now."""
        topic = ask.query.get("example", TOPICS[0])
        if topic not in TOPICS:
            raise InvalidEnum(
                f"no example on {topic[:50]!r}", field="example", allowed=[*TOPICS], got=topic[:50]
            )
        return await self._page(ask, {"text": load_example_source(topic).text}, topic)

    async def compare(self, ask: FeatureRequest) -> FeaturePage:
        """The user's text, and a model's package of it."""
        form = parse_form(ask)
        try:
            return await self._page(ask, form)
        except InternalError:
            raise
        except PeciaError as error:
            main = (_head(), render_failure(error), _form(form))
            return render_page("Comparison", *main, here=PAGE_PATH, status=error.code.http)

    async def _page(
        self, ask: FeatureRequest, form: Mapping[str, str], topic: str = ""
    ) -> FeaturePage:
        started = perf_counter()
        done = await compile_form(self.context, ask, form)
        took_ms = (perf_counter() - started) * 1000
        other = await self._other(ask, form)
        is_stored = other is None and topic == MODEL_TOPIC
        if is_stored:
            stored = await anyio.to_thread.run_sync(load_model_example)
            other = CompiledWork(done.source, stored)
        text = done.source.text
        table = await compute(ask.caller.tenant_id, _table, done, took_ms, other)
        model = other.package if other else None
        main = (
            _head(),
            _examples() if topic else None,
            _render_missing()
            if other is None
            else _render_stored()
            if is_stored
            else _render_cost(other),
            tag("div", table, class_="wide"),
            await compute(ask.caller.tenant_id, _diff, done.package, model) if model else None,
            _form({**form, "text": text}),
        )
        return render_page("Comparison", *main, here=PAGE_PATH)

    async def _other(self, ask: FeatureRequest, form: Mapping[str, str]) -> CompiledWork | None:
        """The model's package: compiled now, or pasted."""
        if is_model_requested(form):
            return await compile_form_with_model(self.context, ask, form)
        pasted = form.get("document", "").strip()
        if not pasted:
            return None
        package = await compute(ask.caller.tenant_id, parse_package_argument, pasted)
        return CompiledWork(SourceText(form.get("text", "")), package)


def _head() -> Html:
    return join_html(
        tag("h1", "Heuristic compiler and model, side by side"),
        tag("p", "One source, two packages, the same measures for both.", class_="about"),
    )


def _examples() -> Html:
    links = (tag("a", it, href=f"{PAGE_PATH}?example={it}", class_="button") for it in TOPICS)
    return tag("p", links, class_="actions")


def _render_missing() -> Html:
    return tag(
        "p",
        tag("strong", "The right column is empty: no model was asked. "),
        "Ask one below, look at ",
        tag("a", "a stored example", href=f"{PAGE_PATH}?example={MODEL_TOPIC}"),
        ", or paste what ",
        tag("code", "ckf.compile_llm"),
        " gave for this text.",
        class_="note",
    )


def _render_stored() -> Html:
    date = MODEL_CREATED_AT.partition("T")[0]
    return tag(
        "p",
        tag("strong", "The right column is a stored example: no model was asked. "),
        f"A language model answered for this text on {date}, and ",
        tag("code", "ckf.compile_llm"),
        " made the package of its answer. Ask a model below to compare a text of yours.",
        class_="note",
    )


def _render_cost(model: CompiledWork) -> Html | None:
    known = model.metrics
    if not known:
        return None
    parts = f"{known['chunks']} parts, {known['failed_chunks']} of them without an answer"
    words = f"{known['tokens_in']:,} tokens read, {known['tokens_out']:,} written"
    said = f"{known['model']} of {known['provider']}: {parts}; {words}."
    notes = (join_html(tag("br"), tag("small", it)) for it in model.warnings)
    return tag("p", said, notes, class_="note")


def _table(ours: CompiledWork, took_ms: float, model: CompiledWork | None) -> Html:
    text = ours.source.text
    left = list_measures(ours.package, text)
    right = list_measures(model.package, text) if model else {}
    heads = tag("tr", (tag("th", it, scope="col") for it in ("Measure", "Heuristic", "Model")))
    took = f"{model.metrics['duration_ms']:.0f} ms" if model and model.metrics else DASH
    rows = [_row("time here", f"{took_ms:.0f} ms", took)]
    rows += [_row(name, value, right.get(name, DASH)) for name, value in left.items()]
    return tag("table", tag("thead", heads), tag("tbody", rows), class_="compared")


def _row(name: str, left: Piece, right: Piece) -> Html:
    return tag("tr", tag("th", name, scope="row"), tag("td", left), tag("td", right))


def list_measures(package: Package, text: str) -> dict[str, str]:
    """The figures of a package, and how many items are in each section."""
    source = QuotedSource(package, text)
    # Both reports are our own, so their shape is known.
    report = cast(Mapping[str, Any], inspect_package(package, text))
    scores = cast(Mapping[str, Any], score_quality(package, CompileContext(text, 1)))
    verdict = validate_package(package.body, strict=False, source=text)
    return {
        **dict(key_figures(package, source, report, verdict)),
        "quality, overall": f"{scores['overall']:g}",
        **{it.title.lower(): str(len(package.items(it.key))) for it in ITEM_SECTIONS},
    }


def _diff(ours: Package, model: Package) -> Html:
    found = diff_bodies(ours, model)
    lines = "\n".join(found.format_lines())
    summary = tag("summary", "What differs, item by item")
    return tag("details", summary, tag("pre", lines, class_="source"))


def _form(form: Mapping[str, str]) -> Html:
    area = tag("textarea", f"\n{form.get('text', '')}", name="text", rows=8, data_drop=True)
    model = tag("textarea", f"\n{form.get('document', '')}", name="document", rows=8)
    return tag(
        "form",
        render_field("Source", area, "At least 20 characters."),
        render_field(
            "The model's package", model, "What ckf.compile_llm gave for it, in any format."
        ),
        tag(
            "p",
            tag("button", "Compare", type="submit", class_="primary"),
            " ",
            tag("progress", hidden=True, data_progress=True),
            " ",
            tag("output", name="told"),
        ),
        tag("h2", "Or ask a model now"),
        render_model_fields(form),
        tag("p", tag("button", "Ask and compare", name="compiler", value="model", type="submit")),
        method="post",
        action=PAGE_PATH,
        class_="paper",
        data_work=True,
    )
