"""Concepts as resources: `okf://<cascade>/<id>`, listed by page, read as effective Markdown."""

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from urllib.parse import quote, unquote, urlsplit

from pecia.kernel.errors import BadArgument, NotFound
from pecia.kernel.identity.caller import Caller, Scope
from pecia.kernel.tool.call import Call
from pecia.kernel.tool.model import (
    Completion,
    Embedded,
    Page,
    Resource,
    ResourceEntry,
    ResourceTemplate,
    Watch,
)
from pecia.rooms.cascade.cascades import Cascades
from pecia.rooms.cascade.identity import concept_id
from pecia.rooms.cascade.render import markdown
from pecia.rooms.cascade.view import Card

ROOM, SCHEME = "cascade", "okf"
MARKDOWN = "text/markdown"
PAGE = 500


def uri_of(cascade: str, concept: str) -> str:
    return f"{SCHEME}://{quote(cascade, safe='')}/{quote(concept)}"


@dataclass(frozen=True, slots=True)
class Shelf:
    """The handlers."""

    cascades: Cascades

    async def listing(self, call: Call, cursor: str | None) -> Page:
        """Every concept of every cascade that the caller sees, one cascade after the other."""
        names = await self.cascades.names(call.caller)
        name, _, after = (cursor or "").partition("\n")
        number = names.index(name) if name in names else 0
        if number >= len(names):
            return Page(())
        cards = (await self.cascades.seen(call.caller, names[number])).view.cards()
        start = bisect_right(cards, after, key=lambda it: it.id) if after else 0
        page = cards[start : start + PAGE]
        entries = tuple(_entry(names[number], it) for it in page)
        if start + PAGE < len(cards):
            return Page(entries, f"{names[number]}\n{page[-1].id}")
        more = number + 1 < len(names)
        return Page(entries, f"{names[number + 1]}\n" if more else None)

    async def read(self, call: Call, uri: str) -> tuple[Embedded, ...]:
        cascade, concept = _parts(uri)
        seen = await self.cascades.seen(call.caller, cascade, concept)
        call.returned(f"cascade:{cascade}", [concept])
        return (Embedded(uri, markdown(seen.view.effective(concept)), MARKDOWN),)

    async def text(self, caller: Caller, uri: str) -> tuple[str, str]:
        """Title and effective Markdown of the concept at an address, as this caller sees it."""
        cascade, concept = _parts(uri)
        view = (await self.cascades.seen(caller, cascade, concept)).view
        return view.effective_title(concept), markdown(view.effective(concept))

    async def complete(
        self, call: Call, name: str, value: str, known: Mapping[str, str]
    ) -> Completion:
        """Ids that begin with what was typed."""
        names = await self.cascades.names(call.caller)
        if name == "cascade":
            return Completion(tuple(it for it in names if it.startswith(value)))
        seen = await self.cascades.seen(call.caller, known.get("cascade"))
        found = [it for it in seen.view.ids if it.startswith(value)]
        return Completion(tuple(found[:100]), len(found), len(found) > 100)

    async def changed(self) -> bool:
        """Whether any concept is not what it was when this was last asked."""
        return bool(await self.cascades.news())

    async def stamps(self, caller: Caller, uris: Sequence[str]) -> dict[str, int]:
        """What tells a change of each; a concept that went away has a stamp of its own."""
        wanted: dict[str, dict[str, str]] = {}
        for uri in uris:
            with suppress(NotFound, BadArgument):
                cascade, concept = _parts(uri)
                wanted.setdefault(cascade, {})[uri] = concept
        found: dict[str, int] = {}
        for cascade, concepts in wanted.items():
            with suppress(NotFound):
                view = (await self.cascades.seen(caller, cascade)).view
                found |= {uri: view.stamp(it) for uri, it in concepts.items()}
        return found


def cascade_resource(cascades: Cascades) -> Resource:
    it = Shelf(cascades)
    watch = Watch(it.changed, it.stamps)
    return Resource(ROOM, SCHEME, Scope.READ, it.listing, it.read, watch=watch)


def cascade_template(cascades: Cascades) -> ResourceTemplate:
    return ResourceTemplate(
        ROOM,
        "okf://{cascade}/{+id}",
        "concept",
        Scope.READ,
        "A concept as the whole cascade has it, dissent in quotes.",
        MARKDOWN,
        Shelf(cascades).complete,
    )


def _entry(cascade: str, card: Card) -> ResourceEntry:
    return ResourceEntry(uri_of(cascade, card.id), card.id, card.title, None, MARKDOWN)


def _parts(uri: str) -> tuple[str, str]:
    parts = urlsplit(uri)
    # The host of a URL loses its case when it is parsed as such.
    cascade = unquote(uri.partition("://")[2].partition("/")[0])
    if parts.scheme != SCHEME or not parts.path.strip("/"):
        raise NotFound(f"no resource {uri[:500]!r}", uri=uri[:500])
    return cascade, concept_id(unquote(parts.path.strip("/")))
