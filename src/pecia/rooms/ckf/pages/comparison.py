"""`/compiler-heuristic-vs-llm`: two packages of one source, side by side, with the same figures.

The heuristic package is made here. The other one is pasted, as `ckf.compile_llm` gave it: a page is
no place for somebody's key.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from time import perf_counter
from typing import Any, cast

import anyio.to_thread

from pecia.kernel.errors import BadArgument, InvalidEnum, NotFound, Unprocessable
from pecia.kernel.room import Ask, Page
from pecia.rooms.ckf.argument import given_package
from pecia.rooms.ckf.examples.shelf import TOPICS, example_source
from pecia.rooms.ckf.package.diff import diff
from pecia.rooms.ckf.package.fields import ITEM_SECTIONS
from pecia.rooms.ckf.package.inspect import inspect
from pecia.rooms.ckf.package.model import Package
from pecia.rooms.ckf.package.quality import Circumstances, quality
from pecia.rooms.ckf.package.validate import validate
from pecia.rooms.ckf.pages.compiler import compiled
from pecia.rooms.ckf.pages.desk import Desk
from pecia.rooms.ckf.pages.forms import complaint, field, fields_of
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
        except (BadArgument, NotFound, Unprocessable) as error:
            main = (_head(), complaint(error.message), _form(form))
            return framed("Comparison", *main, here=HERE, status=error.code.http)

    async def _page(self, ask: Ask, form: Mapping[str, str], *, is_example: bool = False) -> Page:
        started = perf_counter()
        done = await compiled(self.desk, ask.caller, form)
        took_ms = (perf_counter() - started) * 1000
        text = done.source.text
        other = form.get("document", "").strip()
        model = await anyio.to_thread.run_sync(given_package, other) if other else None
        table = await anyio.to_thread.run_sync(_table, text, done.package, model, took_ms)
        main = (
            _head(),
            _examples() if is_example else None,
            _missing() if model is None else None,
            tag("div", table, class_="wide"),
            await anyio.to_thread.run_sync(_diff, done.package, model) if model else None,
            _form({**form, "text": text}),
        )
        return framed("Comparison", *main, here=HERE)


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
        "Call ",
        tag("code", "ckf.compile_llm"),
        " with this text, a ",
        tag("code", "provider"),
        " and your own ",
        tag("code", "byok_key"),
        ", and paste the package below. A key never passes through this page.",
        class_="note",
    )


def _table(text: str, ours: Package, model: Package | None, took_ms: float) -> Html:
    left = measures(ours, text)
    right = measures(model, text) if model else {}
    heads = tag("tr", (tag("th", it, scope="col") for it in ("", "Heuristic", "Model")))
    rows = [_row("time here", f"{took_ms:.0f} ms", DASH)]
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
        field("Source", area, "20 to 200,000 characters."),
        field("The model's package", model, "What ckf.compile_llm gave for it, in any format."),
        tag("p", tag("button", "Compare", type="submit", class_="primary")),
        method="post",
        action=HERE,
        class_="paper",
    )
