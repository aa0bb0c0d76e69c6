"""`/viewer`: a package as a page, from any origin. Text of a package is never acted on.

A package behind `#ckf=` stays in the browser: the script of the pages shows it there.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from urllib.parse import urlencode, urlsplit

import anyio.to_thread

from pecia.features.ckf.examples.loader import TOPICS, load_example
from pecia.features.ckf.library.header import remove_post_header
from pecia.features.ckf.package.codec.codec import PackageFormat, encode_package
from pecia.features.ckf.package.model import Package, text_of
from pecia.features.ckf.pages import downloads
from pecia.features.ckf.pages.context import PageContext
from pecia.features.ckf.pages.forms import parse_form, render_error, render_field, render_hidden
from pecia.features.ckf.pages.html import Html, join_html, tag
from pecia.features.ckf.pages.layout import render_page
from pecia.features.ckf.pages.views.package import PackagePage, render_package
from pecia.features.ckf.pages.views.pagination import FORM_ID, page_link_maker, parse_portion
from pecia.features.ckf.posts.loader import SLUGS
from pecia.features.ckf.sources import find_stale, load_sources
from pecia.features.ckf.tools.arguments import parse_package_argument
from pecia.features.ckf.tools.inputs import MAX_DOCUMENT_CHARS
from pecia.features.ckf.tools.viewer import PACKAGE_EXTENSIONS
from pecia.kernel.compute.pool import compute
from pecia.kernel.errors import InvalidFormat, InvalidInput, Json, PayloadTooLarge, Unprocessable
from pecia.kernel.feature import FeaturePage, FeatureRequest
from pecia.kernel.identity.caller import Caller

PAGE_PATH = "/viewer"
QUERY_KEYS = ("post", "example", "uri", "src")


@dataclass(frozen=True, slots=True)
class ViewerPage:
    context: PageContext

    async def show(self, ask: FeatureRequest) -> FeaturePage:
        """The package that the query names, or the start page."""
        keys = [it for it in QUERY_KEYS if ask.query.get(it)]
        if len(keys) > 1:
            raise InvalidInput(
                f"one of {', '.join(QUERY_KEYS)}, not several", field=keys[1], expected=keys[0]
            )
        if not keys:
            return await self._index(ask.caller)
        name = ask.query[keys[0]]
        match keys[0]:
            case "post":
                shown = await self._post(ask.caller, name, ask.query.get("version", ""))
            case "example":
                shown = await anyio.to_thread.run_sync(_example, name)
            case "uri":
                shown = await self._show_stored(ask.caller, name)
            case _:
                shown = await self._remote(ask, name)
        kept = {it: ask.query[it] for it in (keys[0], "version") if ask.query.get(it)}
        portion = parse_portion(ask.query.get("part", ""))
        lead = page_link_maker(f"{PAGE_PATH}?{urlencode(kept)}")
        return await render_package_page(ask.caller, replace(shown, portion=portion, lead=lead))

    async def read(self, ask: FeatureRequest) -> FeaturePage:
        """A pasted package, shown or converted to another format."""
        self.context.require_may_work(ask)
        form = parse_form(ask)
        document, source = form.get("document", ""), form.get("source", "")
        try:
            package = await compute(ask.caller.tenant_id, _read, document)
        except (Unprocessable, PayloadTooLarge) as error:
            return await self._index(ask.caller, error.message, document)
        if wanted := form.get("as"):
            return await downloads.download_package(
                ask.caller, package, downloads.parse_format(wanted)
            )
        kept = _render_download_form(
            render_hidden("document", document), render_hidden("source", source)
        )
        actions = join_html(kept, downloads.render_buttons(FORM_ID), _print())
        old = await find_stale(self.context.read_source, ask.caller, package)
        about = "As it was pasted. Nothing of it is kept here."
        portion = parse_portion(form.get("part", ""))
        shown = PackagePage(package, source or None, about=about, actions=actions, stale=tuple(old))
        return await render_package_page(ask.caller, replace(shown, portion=portion))

    async def _post(self, caller: Caller, slug: str, version: str) -> PackagePage:
        if version and not version.isdecimal():
            raise InvalidFormat(
                f'Field "version" is a number, not {version[:50]!r}',
                field="version",
                got=version[:50],
            )
        post, package = await self.context.library.fetch(
            caller, slug, int(version) if version else None
        )
        source = post.text if slug in SLUGS else await self._source(caller, package)
        about = f"{post.category} · {post.author} · {post.date} · version {post.version}"
        return PackagePage(
            package,
            source,
            post.title,
            join_html(post.excerpt, tag("br"), tag("small", about)),
            join_html(downloads.render_links(post.slug), _print()),
            tuple(await find_stale(self.context.read_source, caller, package)),
        )

    async def _show_stored(self, caller: Caller, uri: str) -> PackagePage:
        found = await self.context.read_source(caller, uri)
        package = remove_post_header(await compute(caller.tenant_id, _read, found.text))
        kept = _render_download_form(render_hidden("document", found.text))
        return PackagePage(
            package,
            await self._source(caller, package),
            about=join_html("From ", tag("code", uri)),
            actions=join_html(kept, downloads.render_buttons(FORM_ID), _print()),
            stale=tuple(await find_stale(self.context.read_source, caller, package)),
        )

    async def _remote(self, ask: FeatureRequest, url: str) -> PackagePage:
        self.context.require_may_work(ask)
        if not urlsplit(url).path.endswith(PACKAGE_EXTENSIONS):
            raise InvalidFormat(
                'Field "src" must be the address of a package',
                field="src",
                expected=f"a path that ends in {', '.join(PACKAGE_EXTENSIONS)}",
                got=url[:200],
            )
        if own := _own_post(url, self.context.base_url):
            return await self._post(ask.caller, own, "")
        body = await self.context.services.fetch(url)
        document = body.decode("utf-8", "replace")
        package = await compute(ask.caller.tenant_id, _read, document)
        kept = _render_download_form(render_hidden("document", document))
        actions = join_html(kept, downloads.render_buttons(FORM_ID), _print())
        return PackagePage(package, about=join_html("From ", tag("code", url)), actions=actions)

    async def _source(self, caller: Caller, package: Package) -> str | None:
        """The source, where there is one that the caller may read."""
        found = await load_sources(self.context.read_source, caller, package)
        return next(iter(found.values())).text if len(found) == 1 else None

    async def _index(self, caller: Caller, problem: str = "", document: str = "") -> FeaturePage:
        slugs = await self.context.library.slugs(caller)
        main = (
            tag("div", id="fragment", hidden=True),
            tag(
                "div",
                tag("h1", "See what a package holds"),
                tag("p", _INTRODUCTION, class_="about"),
                render_error(problem) if problem else None,
                _paste(document),
                _list("Examples", "example", TOPICS),
                _list("Published posts", "post", slugs),
                id="index",
            ),
        )
        return render_page("Viewer", *main, here=PAGE_PATH, status=422 if problem else 200)


def _own_post(url: str, base_url: str) -> str:
    """The slug, if it is the address of a post on this server, which is not fetched from itself."""
    name = url.removeprefix(f"{base_url}/news/") if url.startswith(f"{base_url}/news/") else ""
    for it in sorted(PACKAGE_EXTENSIONS, key=len, reverse=True):
        if name.endswith(it):
            return name.removesuffix(it)
    return ""


_INTRODUCTION = (
    "Sections, confidence, the words of the source behind each item, and a report on how far the "
    "package can be trusted."
)


async def render_package_page(
    caller: Caller, shown: PackagePage, here: str = PAGE_PATH
) -> FeaturePage:
    """The page of a package."""
    # Only strings are pickled to a worker, not unjoined pieces.
    plain = replace(shown, about=join_html(shown.about), actions=join_html(shown.actions))
    return await compute(caller.tenant_id, _render, plain, here)


def _render(shown: PackagePage, here: str) -> FeaturePage:
    title = shown.title or text_of(shown.package.metadata, "source_title") or "A package"
    return render_page(title, render_package(shown), here=here)


def _read(document: Json) -> Package:
    if isinstance(document, str) and len(document) > MAX_DOCUMENT_CHARS:
        raise PayloadTooLarge(
            f'Field "document" is too long (max {MAX_DOCUMENT_CHARS} chars, got {len(document)})',
            field="document",
            max=MAX_DOCUMENT_CHARS,
            length=len(document),
        )
    return parse_package_argument(document)


def _example(topic: str) -> PackagePage:
    if topic not in TOPICS:
        raise InvalidFormat(
            f"no example on {topic[:50]!r}", field="example", expected=", ".join(TOPICS)
        )
    found = load_example(topic)
    kept = _render_download_form(
        render_hidden("document", encode_package(found.package, PackageFormat.JSON)),
        render_hidden("source", found.source.text),
    )
    actions = join_html(kept, downloads.render_buttons(FORM_ID), _print())
    return PackagePage(
        found.package, found.source.text, about="An example that ships.", actions=actions
    )


def _render_download_form(*fields: Html) -> Html:
    """The form for downloads; its buttons are elsewhere on the page."""
    return tag("form", fields, id=FORM_ID, method="post", action=PAGE_PATH)


def _print() -> Html:
    return tag("button", "Print", type="button", data_print=True, hidden=True)


def _paste(document: str) -> Html:
    area = tag(
        "textarea", f"\n{document}" if document else "", name="document", rows=8, required=True
    )
    source = tag("textarea", name="source", rows=3)
    return tag(
        "form",
        render_field("A package", area, "JSON, YAML or Markdown; dropping a file works too."),
        render_field("Its source", source, "Optional: to mark what is quoted, and check numbers."),
        tag("p", tag("button", "Show", type="submit", class_="primary")),
        method="post",
        action=PAGE_PATH,
        class_="paper",
    )


def _list(title: str, way: str, names: Iterable[str]) -> Html:
    entries = (tag("li", tag("a", it, href=f"{PAGE_PATH}?{way}={it}")) for it in names)
    return tag("section", tag("h2", title), tag("ul", entries, class_="names"))
