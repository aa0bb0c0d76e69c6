"""`/compiler-heuristic-vs-llm`: two packages of one source, side by side, with the same figures.

The heuristic package is made here. The other one is made by a model that is asked now, or pasted as
`ckf.compile_llm` gave it.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from time import perf_counter
from typing import Any, cast

from pecia.kernel.compute.pool import compute
from pecia.kernel.errors import InternalError, InvalidEnum, PeciaError
from pecia.kernel.room import Ask, Page
from pecia.rooms.ckf.argument import given_package
from pecia.rooms.ckf.examples.shelf import TOPICS, example_source
from pecia.rooms.ckf.options import SourceText
from pecia.rooms.ckf.package.diff import diff
from pecia.rooms.ckf.package.fields import ITEM_SECTIONS
from pecia.rooms.ckf.package.inspect import inspect
from pecia.rooms.ckf.package.model import Package
from pecia.rooms.ckf.package.quality import Circumstances, quality
from pecia.rooms.ckf.package.validate import validate
from pecia.rooms.ckf.pages.asking import is_wanted, model_fields
from pecia.rooms.ckf.pages.compiler import Work, compiled, modelled
from pecia.rooms.ckf.pages.desk import Desk
from pecia.rooms.ckf.pages.forms import field, fields_of, refusal
from pecia.rooms.ckf.pages.frame import framed
from pecia.rooms.ckf.pages.html import Html, Piece, joined, tag
from pecia.rooms.ckf.pages.inspection_view import figures
from pecia.rooms.ckf.pages.source_view import QuotedSource

HERE = "/compiler-heuristic-vs-llm"
DASH = "–"


@dataclass(frozen=True, slots=True)
class ComparisonPage:
    desk: Desk

    async def show(self, ask: Ask) -> Page:
        """One of the examples, compiled now."""
        topic = ask.query.get("example", TOPICS[0])
        if topic not in TOPICS:
            raise InvalidEnum(
                f"no example on {topic[:50]!r}", field="example", allowed=[*TOPICS], got=topic[:50]
            )
        return await self._page(ask, {"text": example_source(topic).text}, is_example=True)

    async def compare(self, ask: Ask) -> Page:
        """A text of one's own, and the package that a model made of it."""
        form = fields_of(ask)
        try:
            return await self._page(ask, form)
        except InternalError:
            raise
        except PeciaError as error:
            main = (_head(), refusal(error), _form(form))
            return framed("Comparison", *main, here=HERE, status=error.code.http)

    async def _page(self, ask: Ask, form: Mapping[str, str], *, is_example: bool = False) -> Page:
        started = perf_counter()
        done = await compiled(self.desk, ask, form)
        took_ms = (perf_counter() - started) * 1000
        other = await self._other(ask, form)
        text = done.source.text
        table = await compute(ask.caller.tenant_id, _table, done, took_ms, other)
        model = other.package if other else None
        main = (
            _head(),
            _examples() if is_example else None,
            _missing() if other is None else _spent(other),
            tag("div", table, class_="wide"),
            await compute(ask.caller.tenant_id, _diff, done.package, model) if model else None,
            _form({**form, "text": text}),
        )
        return framed("Comparison", *main, here=HERE)

    async def _other(self, ask: Ask, form: Mapping[str, str]) -> Work | None:
        """The model's package: made now, or as it was pasted."""
        if is_wanted(form):
            return await modelled(self.desk, ask, form)
        pasted = form.get("document", "").strip()
        if not pasted:
            return None
        package = await compute(ask.caller.tenant_id, given_package, pasted)
        return Work(SourceText(form.get("text", "")), package)


def _head() -> Html:
    return joined(
        tag("h1", "Heuristic compiler and model, side by side"),
        tag("p", "One source, two packages, the same measures for both.", class_="about"),
    )


def _examples() -> Html:
    links = (tag("a", it, href=f"{HERE}?example={it}", class_="button") for it in TOPICS)
    return tag("p", links, class_="actions")


def _missing() -> Html:
    return tag(
        "p",
        tag("strong", "The right column is empty: no model was asked. "),
        "Ask one below, or paste what ",
        tag("code", "ckf.compile_llm"),
        " gave for this text.",
        class_="note",
    )


def _spent(model: Work) -> Html | None:
    known = model.metrics
    if not known:
        return None
    parts = f"{known['chunks']} parts, {known['failed_chunks']} of them without an answer"
    words = f"{known['tokens_in']:,} tokens read, {known['tokens_out']:,} written"
    said = f"{known['model']} of {known['provider']}: {parts}; {words}."
    notes = (joined(tag("br"), tag("small", it)) for it in model.warnings)
    return tag("p", said, notes, class_="note")


def _table(ours: Work, took_ms: float, model: Work | None) -> Html:
    text = ours.source.text
    left = measures(ours.package, text)
    right = measures(model.package, text) if model else {}
    heads = tag("tr", (tag("th", it, scope="col") for it in ("", "Heuristic", "Model")))
    took = f"{model.metrics['duration_ms']:.0f} ms" if model and model.metrics else DASH
    rows = [_row("time here", f"{took_ms:.0f} ms", took)]
    rows += [_row(name, value, right.get(name, DASH)) for name, value in left.items()]
    return tag("table", tag("thead", heads), tag("tbody", rows), class_="compared")


def _row(name: str, left: Piece, right: Piece) -> Html:
    return tag("tr", tag("th", name, scope="row"), tag("td", left), tag("td", right))


def measures(package: Package, text: str) -> dict[str, str]:
    """The figures of a package, and how many items are in each section."""
    source = QuotedSource(package, text)
    # Both are reports of our own, whose shape is known.
    report = cast(Mapping[str, Any], inspect(package, text))
    scores = cast(Mapping[str, Any], quality(package, Circumstances(text, 1)))
    verdict = validate(package.body, strict=False, source=text)
    return {
        **dict(figures(package, source, report, verdict)),
        "quality, overall": f"{scores['overall']:g}",
        **{it.title.lower(): str(len(package.items(it.key))) for it in ITEM_SECTIONS},
    }


def _diff(ours: Package, model: Package) -> Html:
    found = diff(ours, model)
    lines = "\n".join(found.lines())
    summary = tag("summary", "What differs, item by item")
    return tag("details", summary, tag("pre", lines, class_="source"))


def _form(form: Mapping[str, str]) -> Html:
    area = tag("textarea", f"\n{form.get('text', '')}", name="text", rows=8, data_drop=True)
    model = tag("textarea", f"\n{form.get('document', '')}", name="document", rows=8)
    return tag(
        "form",
        field("Source", area, "At least 20 characters."),
        field("The model's package", model, "What ckf.compile_llm gave for it, in any format."),
        tag(
            "p",
            tag("button", "Compare", type="submit", class_="primary"),
            " ",
            tag("progress", hidden=True, data_progress=True),
            " ",
            tag("output", name="told"),
        ),
        tag("h2", "Or ask a model now"),
        model_fields(form),
        tag("p", tag("button", "Ask and compare", name="compiler", value="model", type="submit")),
        method="post",
        action=HERE,
        class_="paper",
        data_work=True,
    )
