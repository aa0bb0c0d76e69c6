"""`/compiler/pick`: the sources and files a caller may see, to choose one. Reads no text."""

from dataclasses import dataclass
from urllib.parse import urlencode

from pecia.features.ckf.pages.context import PageContext
from pecia.features.ckf.pages.html import Html, Piece, tag
from pecia.features.ckf.pages.layout import render_page
from pecia.kernel.errors import NotFound
from pecia.kernel.feature import FeaturePage, FeatureRequest

PAGE_PATH = "/compiler/pick"
PAGE_SIZE = 100


@dataclass(frozen=True, slots=True)
class PickerPage:
    context: PageContext

    async def show(self, ask: FeatureRequest) -> FeaturePage:
        files = self.context.services.files
        if files is None or not ask.caller.tenant:
            raise NotFound("no sources to pick from on this server")
        source, after = ask.query.get("source", ""), ask.query.get("after", "")
        entries: list[tuple[str, str, str]]
        if source:
            found = await files.files(ask.caller, source, after, PAGE_SIZE + 1)
            entries = [(key, "/compiler", urlencode({"uri": uri})) for key, uri in found]
        else:
            names = await files.sources(ask.caller, after, PAGE_SIZE + 1)
            entries = [(it, PAGE_PATH, urlencode({"source": it})) for it in names]
        title = f"Files of {source}" if source else "Sources"
        return render_page(title, *_listing(title, source, entries), here="/compiler")


def _listing(title: str, source: str, entries: list[tuple[str, str, str]]) -> tuple[Piece, ...]:
    shown = entries[:PAGE_SIZE]
    rows = (tag("li", tag("a", name, href=f"{path}?{query}")) for name, path, query in shown)
    back = tag("a", "All sources", href=PAGE_PATH) if source else tag("a", "Back", href="/compiler")
    return (
        tag("h1", title),
        tag("p", back, class_="about"),
        tag("ul", rows, class_="names") if shown else tag("p", "Nothing that you may see."),
        _more(source, shown[-1][0]) if len(entries) > PAGE_SIZE else None,
    )


def _more(source: str, after: str) -> Html:
    query = {"source": source, "after": after} if source else {"after": after}
    return tag("p", tag("a", "More", href=f"{PAGE_PATH}?{urlencode(query)}", class_="button"))
