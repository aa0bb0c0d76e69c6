"""Documents and files as pages without scripts: `/read/SOURCE/KEY`.

What is shown comes from the tools, under the rights of whoever asks, and is audited as their calls.
"""

import posixpath
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any, cast
from urllib.parse import quote, urlencode

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from pecia.app.app import App
from pecia.interfaces.http.auth.authenticator import HttpAuthenticator
from pecia.interfaces.http.pages.markdown import (
    PageLink,
    render_markdown,
    slug,
    split_frontmatter,
)
from pecia.interfaces.http.pages.routes import READ_PATH
from pecia.interfaces.http.pages.template import render_bar, render_document
from pecia.kernel.errors import Json
from pecia.kernel.identity.caller import Caller, Operator, Scope

SPACE_PREFIX = "wiki:"
_MARKDOWN = re.compile(r"\.(md|mdx|markdown)$", re.IGNORECASE)


def read_address(source: str, key: str, anchor: str = "") -> str:
    """The address of a document's page."""
    path = f"{READ_PATH}/{quote(source, safe='')}/{quote(key)}"
    return f"{path}#{slug(anchor)}" if anchor else path


@dataclass(frozen=True, slots=True)
class DocumentHandler:
    """Reads through the tools, renders, and knows no right of its own."""

    app: App
    authenticator: HttpAuthenticator

    async def handle(self, request: Request) -> Response:
        """The page of one file."""
        context = self.authenticator.request_context(request)
        who = await self.authenticator.authenticate(request, context, scope=Scope.READ.value)
        source, key = str(request.path_params["source"]), str(request.path_params["key"])
        if not key:
            # Somebody shortened the address: the console lists what there is.
            return RedirectResponse(f"/console/#/documents?{urlencode({'source': source})}")
        is_document = source.startswith(SPACE_PREFIX) and _MARKDOWN.search(key)
        if is_document:
            found = await self._call(request, who, "wiki__read_document", _document(source, key))
            title, body = _render_document(source, key, found)
        else:
            start = _start(request.query_params.get("start", ""))
            arguments: dict[str, Json] = {"source_id": source, "key": key, "start": start}
            found = await self._call(request, who, "lake__get_file_text", arguments)
            title, body = _render_file(source, key, found)
        return render_document(f"{title} · Pecia", _frame(source, key, body))

    async def _call(
        self, request: Request, who: Caller | Operator, name: str, arguments: dict[str, Json]
    ) -> Mapping[str, Any]:
        context = self.authenticator.request_context(request)
        view = self.app.full_view
        result = await self.app.dispatcher.call(who, view, name, arguments, context)
        if result.failure is not None:
            raise result.failure
        return cast(Mapping[str, Any], result.structured)


def _document(source: str, key: str) -> dict[str, Json]:
    return {"space": source.removeprefix(SPACE_PREFIX), "path": key}


def _start(text: str) -> int:
    return int(text) if text.isascii() and text.isdigit() and len(text) < 10 else 0


def _render_document(source: str, key: str, found: Mapping[str, Any]) -> tuple[str, str]:
    links: Sequence[Mapping[str, Any]] = found.get("forwardLinks") or []

    def resolve(target: str, anchor: str) -> PageLink:
        if not target:
            return PageLink(f"#{slug(anchor)}")
        return _resolve(source, key, links, target, anchor)

    rendered = render_markdown(split_frontmatter(found["content"]), resolve)
    title = rendered.title or str(found["title"])
    more = ""
    if found.get("nextOffset"):
        more = '<p class="note">The document is longer: the console shows it whole.</p>'
    body = f'<div class="prose" dir="auto"><h1>{escape(title)}</h1>{rendered.html}</div>{more}'
    return title, body + _backlinks(source, found.get("backlinks") or [])


def _resolve(
    source: str, key: str, links: Sequence[Mapping[str, Any]], target: str, anchor: str
) -> PageLink:
    """Where a link leads: to one of those that the server resolved for this document."""
    found = _find_linked(links, key, target)
    if found is None or found.get("dead"):
        if re.search(r"\.\w{1,5}$", target) and not _MARKDOWN.search(target):
            return PageLink(read_address(source, _join(key, target)))
        name = found["docName"] if found else _MARKDOWN.sub("", _join("", target))
        return PageLink(read_address(source, f"{name}.md"), is_missing=True)
    title = f"{found['title']}, {anchor}" if anchor else str(found["title"])
    return PageLink(read_address(source, f"{found['docName']}.md", anchor), title=title)


def _find_linked(
    links: Sequence[Mapping[str, Any]], key: str, target: str
) -> Mapping[str, Any] | None:
    named = [it for it in links if it.get("docName")]
    wanted = _MARKDOWN.sub("", target).lower()
    in_place = _MARKDOWN.sub("", _join(key, target)).lower()
    tests: tuple[Callable[[Mapping[str, Any]], bool], ...] = (
        lambda it: it["docName"].lower() == in_place,
        lambda it: it["docName"].lower() == wanted.lstrip("/"),
        lambda it: it["docName"].lower().endswith(f"/{wanted}"),
        lambda it: str(it["title"]).lower() == wanted,
    )
    return next((it for test in tests for it in named if test(it)), None)


def _join(key: str, target: str) -> str:
    if target.startswith("/"):
        return target[1:]
    joined = posixpath.normpath(posixpath.join(posixpath.dirname(key), target))
    return joined.lstrip("./") if joined.startswith("..") else joined


def _backlinks(source: str, found: Sequence[Mapping[str, Any]]) -> str:
    if not found:
        return ""
    rows = "".join(
        f'<li><a href="{escape(read_address(source, it["source"] + ".md"))}">'
        f"{escape(str(it['title']))}</a></li>"
        for it in found
    )
    return (
        '<section class="section"><div class="section-head"><h2>Linked from</h2></div>'
        f'<ul class="list">{rows}</ul></section>'
    )


def _render_file(source: str, key: str, found: Mapping[str, Any]) -> tuple[str, str]:
    title = posixpath.basename(key)
    chunks: Sequence[Mapping[str, Any]] = found["chunks"]
    parts = [f'<div class="prose"><h1>{escape(title)}</h1></div>']
    if found["status"] != "ok":
        reason = escape(str(found["reason"]))
        parts.append(f'<p class="note warn">There is no text to show. {reason}</p>')
    page = None
    for it in chunks:
        if it.get("page_no") not in (None, page):
            page = it["page_no"]
            parts.append(f'<p class="label">Page {page}</p>')
        parts.append(f'<pre class="wrap">{escape(str(it["text"]))}</pre>')
    if found.get("next_cursor") is not None:
        more = f"?{urlencode({'start': found['next_cursor']})}"
        parts.append(f'<p><a class="button" href="{escape(more)}">Read on</a></p>')
    return title, "".join(parts)


def _frame(source: str, key: str, body: str) -> str:
    place = f"{source.removeprefix(SPACE_PREFIX)} / {key}"
    console = f"/console/#/read?{urlencode({'source': source, 'key': key})}"
    return (
        f"{render_bar(console, 'Open in the console')}"
        f'<main class="page reading"><p class="path">{escape(place)}</p>'
        f'<article class="section stack">{body}</article></main>'
    )
