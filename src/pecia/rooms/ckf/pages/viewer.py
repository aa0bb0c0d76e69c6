"""`/viewer`: a package as a page, wherever it comes from. It acts on nothing that a package says.

A package behind `#ckf=` stays in the browser: the script of the pages shows it there.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from urllib.parse import urlencode, urlsplit

import anyio.to_thread

from pecia.kernel.compute.pool import compute
from pecia.kernel.errors import InvalidFormat, InvalidInput, Json, PayloadTooLarge, Unprocessable
from pecia.kernel.identity.caller import Caller
from pecia.kernel.room import Ask, Page
from pecia.rooms.ckf.argument import given_package
from pecia.rooms.ckf.examples.shelf import TOPICS, read_example
from pecia.rooms.ckf.inputs import LONGEST_DOCUMENT
from pecia.rooms.ckf.library_head import unmarked
from pecia.rooms.ckf.library_sources import reread, stale
from pecia.rooms.ckf.package.codec import Format, encode
from pecia.rooms.ckf.package.model import Package, text_of
from pecia.rooms.ckf.pages import downloads
from pecia.rooms.ckf.pages.desk import Desk
from pecia.rooms.ckf.pages.forms import complaint, field, fields_of, hidden
from pecia.rooms.ckf.pages.frame import framed
from pecia.rooms.ckf.pages.html import Html, joined, tag
from pecia.rooms.ckf.pages.package_view import Shown, package_view
from pecia.rooms.ckf.pages.portion import FORM, asked_portion, by_link
from pecia.rooms.ckf.posts.shelf import SLUGS
from pecia.rooms.ckf.viewer import ENDINGS

HERE = "/viewer"
WAYS = ("post", "example", "uri", "src")


@dataclass(frozen=True, slots=True)
class ViewerPage:
    desk: Desk

    async def show(self, ask: Ask) -> Page:
        """What the address names, or the ways to name something."""
        given = [it for it in WAYS if ask.query.get(it)]
        if len(given) > 1:
            raise InvalidInput(
                f"one of {', '.join(WAYS)}, not several", field=given[1], expected=given[0]
            )
        if not given:
            return await self._index(ask.caller)
        name = ask.query[given[0]]
        match given[0]:
            case "post":
                shown = await self._post(ask.caller, name, ask.query.get("version", ""))
            case "example":
                shown = await anyio.to_thread.run_sync(_example, name)
            case "uri":
                shown = await self._stored(ask.caller, name)
            case _:
                shown = await self._remote(ask, name)
        kept = {it: ask.query[it] for it in (given[0], "version") if ask.query.get(it)}
        portion = asked_portion(ask.query.get("part", ""))
        lead = by_link(f"{HERE}?{urlencode(kept)}")
        return await rendered(ask.caller, replace(shown, portion=portion, lead=lead))

    async def read(self, ask: Ask) -> Page:
        """A package that was pasted, shown or given back in another format."""
        self.desk.let_work(ask)
        form = fields_of(ask)
        document, source = form.get("document", ""), form.get("source", "")
        try:
            package = await compute(ask.caller.tenant_id, _read, document)
        except (Unprocessable, PayloadTooLarge) as error:
            return await self._index(ask.caller, error.message, document)
        if wanted := form.get("as"):
            return await downloads.saved(ask.caller, package, downloads.format_of(wanted))
        kept = _kept(hidden("document", document), hidden("source", source))
        actions = joined(kept, downloads.buttons(FORM), _print())
        old = await stale(self.desk.read_source, ask.caller, package)
        about = "As it was pasted. Nothing of it is kept here."
        portion = asked_portion(form.get("part", ""))
        shown = Shown(package, source or None, about=about, actions=actions, stale=tuple(old))
        return await rendered(ask.caller, replace(shown, portion=portion))

    async def _post(self, caller: Caller, slug: str, version: str) -> Shown:
        if version and not version.isdecimal():
            raise InvalidFormat('Field "version" is a number', field="version", got=version[:50])
        post, package = await self.desk.library.fetch(
            caller, slug, int(version) if version else None
        )
        source = post.text if slug in SLUGS else await self._source(caller, package)
        about = f"{post.category} · {post.author} · {post.date} · version {post.version}"
        return Shown(
            package,
            source,
            post.title,
            joined(post.excerpt, tag("br"), tag("small", about)),
            joined(downloads.links(post.slug), _print()),
            tuple(await stale(self.desk.read_source, caller, package)),
        )

    async def _stored(self, caller: Caller, uri: str) -> Shown:
        found = await self.desk.read_source(caller, uri)
        package = unmarked(await compute(caller.tenant_id, _read, found.text))
        kept = _kept(hidden("document", found.text))
        return Shown(
            package,
            await self._source(caller, package),
            about=joined("From ", tag("code", uri)),
            actions=joined(kept, downloads.buttons(FORM), _print()),
            stale=tuple(await stale(self.desk.read_source, caller, package)),
        )

    async def _remote(self, ask: Ask, url: str) -> Shown:
        self.desk.let_work(ask)
        if not urlsplit(url).path.endswith(ENDINGS):
            raise InvalidFormat(
                'Field "src" must be the address of a package',
                field="src",
                expected=f"a path that ends in {', '.join(ENDINGS)}",
                got=url[:200],
            )
        body = await self.desk.outside.fetch(url)
        document = body.decode("utf-8", "replace")
        package = await compute(ask.caller.tenant_id, _read, document)
        kept = _kept(hidden("document", document))
        actions = joined(kept, downloads.buttons(FORM), _print())
        return Shown(package, about=joined("From ", tag("code", url)), actions=actions)

    async def _source(self, caller: Caller, package: Package) -> str | None:
        """The source, where there is one that the caller may read."""
        found = await reread(self.desk.read_source, caller, package)
        return next(iter(found.values())).text if len(found) == 1 else None

    async def _index(self, caller: Caller, problem: str = "", document: str = "") -> Page:
        slugs = await self.desk.library.slugs(caller)
        main = (
            tag("div", id="fragment", hidden=True),
            tag(
                "div",
                tag("h1", "See what a package holds"),
                tag("p", _INTRODUCTION, class_="about"),
                complaint(problem) if problem else None,
                _paste(document),
                _list("Examples", "example", TOPICS),
                _list("Published posts", "post", slugs),
                id="index",
            ),
        )
        return framed("Viewer", *main, here=HERE, status=422 if problem else 200)


_INTRODUCTION = (
    "Sections, confidence, the words of the source behind each item, and a report on how far the "
    "package can be trusted."
)


async def rendered(caller: Caller, shown: Shown, here: str = HERE) -> Page:
    """The page of a package."""
    # Texts travel to a worker; pieces that are still to be joined do not.
    plain = replace(shown, about=joined(shown.about), actions=joined(shown.actions))
    return await compute(caller.tenant_id, _rendered, plain, here)


def _rendered(shown: Shown, here: str) -> Page:
    title = shown.title or text_of(shown.package.metadata, "source_title") or "A package"
    return framed(title, package_view(shown), here=here)


def _read(document: Json) -> Package:
    if isinstance(document, str) and len(document) > LONGEST_DOCUMENT:
        raise PayloadTooLarge(
            f'Field "document" is too long (max {LONGEST_DOCUMENT} chars, got {len(document)})',
            field="document",
            max=LONGEST_DOCUMENT,
            length=len(document),
        )
    return given_package(document)


def _example(topic: str) -> Shown:
    if topic not in TOPICS:
        raise InvalidFormat(
            f"no example on {topic[:50]!r}", field="example", expected=", ".join(TOPICS)
        )
    found = read_example(topic)
    kept = _kept(
        hidden("document", encode(found.package, Format.JSON)), hidden("source", found.source.text)
    )
    actions = joined(kept, downloads.buttons(FORM), _print())
    return Shown(found.package, found.source.text, about="An example that ships.", actions=actions)


def _kept(*fields: Html) -> Html:
    """The form that downloads are made from; its buttons stand elsewhere."""
    return tag("form", fields, id=FORM, method="post", action=HERE)


def _print() -> Html:
    return tag("button", "Print", type="button", data_print=True, hidden=True)


def _paste(document: str) -> Html:
    area = tag(
        "textarea", f"\n{document}" if document else "", name="document", rows=8, required=True
    )
    source = tag("textarea", name="source", rows=3)
    return tag(
        "form",
        field("A package", area, "JSON, YAML or Markdown; dropping a file works too."),
        field("Its source", source, "Optional: to mark what is quoted, and check numbers."),
        tag("p", tag("button", "Show", type="submit", class_="primary")),
        method="post",
        action=HERE,
        class_="paper",
    )


def _list(title: str, way: str, names: Iterable[str]) -> Html:
    entries = (tag("li", tag("a", it, href=f"{HERE}?{way}={it}")) for it in names)
    return tag("section", tag("h2", title), tag("ul", entries, class_="names"))
