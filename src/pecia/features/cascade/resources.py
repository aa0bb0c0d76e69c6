"""Concepts as resources: `okf://<cascade>/<id>`, listed by page, read as effective Markdown."""

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from urllib.parse import quote, unquote, urlsplit

from pecia.features.cascade.core.concept_id import parse_concept_id
from pecia.features.cascade.core.render import render_markdown
from pecia.features.cascade.core.view import ConceptCard
from pecia.features.cascade.registry import CascadeRegistry
from pecia.kernel.errors import BadArgument, NotFound
from pecia.kernel.identity.caller import Caller, Scope
from pecia.kernel.tool.call import Call
from pecia.kernel.tool.model import (
    Completion,
    EmbeddedResource,
    Resource,
    ResourceEntry,
    ResourcePage,
    ResourceTemplate,
    ResourceWatch,
)

FEATURE, SCHEME = "cascade", "okf"
MARKDOWN = "text/markdown"
PAGE_SIZE = 500


def concept_uri(cascade: str, concept: str) -> str:
    return f"{SCHEME}://{quote(cascade, safe='')}/{quote(concept)}"


@dataclass(frozen=True, slots=True)
class ConceptResources:
    """The handlers."""

    cascades: CascadeRegistry

    async def list_page(self, call: Call, cursor: str | None) -> ResourcePage:
        """Every concept of every cascade that the caller sees, one cascade after the other."""
        names = await self.cascades.list_visible(call.caller)
        name, _, after = (cursor or "").partition("\n")
        number = names.index(name) if name in names else 0
        if number >= len(names):
            return ResourcePage(())
        cards = (await self.cascades.find_visible(call.caller, names[number])).view.list_cards()
        start = bisect_right(cards, after, key=lambda it: it.id) if after else 0
        page = cards[start : start + PAGE_SIZE]
        entries = tuple(_entry(names[number], it) for it in page)
        if start + PAGE_SIZE < len(cards):
            return ResourcePage(entries, f"{names[number]}\n{page[-1].id}")
        more = number + 1 < len(names)
        return ResourcePage(entries, f"{names[number + 1]}\n" if more else None)

    async def read(self, call: Call, uri: str) -> tuple[EmbeddedResource, ...]:
        cascade, concept = _parse_uri(uri)
        seen = await self.cascades.find_visible(call.caller, cascade, concept)
        call.record_returned(f"cascade:{cascade}", [concept])
        return (EmbeddedResource(uri, render_markdown(seen.view.effective(concept)), MARKDOWN),)

    async def text(self, caller: Caller, uri: str) -> tuple[str, str]:
        """Title and effective Markdown of the concept at a URI, as this caller sees it."""
        cascade, concept = _parse_uri(uri)
        view = (await self.cascades.find_visible(caller, cascade, concept)).view
        return view.effective_title(concept), render_markdown(view.effective(concept))

    async def complete(
        self, call: Call, name: str, value: str, known: Mapping[str, str]
    ) -> Completion:
        """Ids that begin with the typed prefix."""
        names = await self.cascades.list_visible(call.caller)
        if name == "cascade":
            return Completion(tuple(it for it in names if it.startswith(value)))
        seen = await self.cascades.find_visible(call.caller, known.get("cascade"))
        found = [it for it in seen.view.ids if it.startswith(value)]
        return Completion(tuple(found[:100]), len(found), len(found) > 100)

    async def has_changed(self) -> bool:
        """Whether any concept changed since the last call."""
        return bool(await self.cascades.take_changes())

    async def load_versions(self, caller: Caller, uris: Sequence[str]) -> dict[str, int]:
        """A version per URI; a removed concept has a version of its own."""
        wanted: dict[str, dict[str, str]] = {}
        for uri in uris:
            with suppress(NotFound, BadArgument):
                cascade, concept = _parse_uri(uri)
                wanted.setdefault(cascade, {})[uri] = concept
        found: dict[str, int] = {}
        for cascade, concepts in wanted.items():
            with suppress(NotFound):
                view = (await self.cascades.find_visible(caller, cascade)).view
                found |= {uri: view.version_of(it) for uri, it in concepts.items()}
        return found


def cascade_resource(cascades: CascadeRegistry) -> Resource:
    it = ConceptResources(cascades)
    watch = ResourceWatch(it.has_changed, it.load_versions)
    return Resource(FEATURE, SCHEME, Scope.READ, it.list_page, it.read, watch=watch)


def cascade_template(cascades: CascadeRegistry) -> ResourceTemplate:
    return ResourceTemplate(
        FEATURE,
        "okf://{cascade}/{+id}",
        "concept",
        Scope.READ,
        "A concept as resolved by the whole cascade, dissent in quotes.",
        MARKDOWN,
        ConceptResources(cascades).complete,
    )


def _entry(cascade: str, card: ConceptCard) -> ResourceEntry:
    return ResourceEntry(concept_uri(cascade, card.id), card.id, card.title, None, MARKDOWN)


def _parse_uri(uri: str) -> tuple[str, str]:
    parts = urlsplit(uri)
    # URL parsing would lowercase the host.
    cascade = unquote(uri.partition("://")[2].partition("/")[0])
    if parts.scheme != SCHEME or not parts.path.strip("/"):
        raise NotFound(f"no resource {uri[:500]!r}", uri=uri[:500])
    return cascade, parse_concept_id(unquote(parts.path.strip("/")))
