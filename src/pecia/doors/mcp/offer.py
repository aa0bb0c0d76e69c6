"""What a client finds at an endpoint, after narrowing: tools, and rooms with the rest."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

from pecia.app.app import App
from pecia.doors.mcp.cipher import Wanted, cipher_view, in_words_of_reference, wanted
from pecia.doors.mcp.endpoints import ALL, CIPHER, DESK, Endpoint
from pecia.doors.mcp.narrowing import EVERYTHING, Narrowing
from pecia.kernel.errors import Json
from pecia.kernel.room import Room
from pecia.kernel.tool.guests import NO_GUESTS, GuestList
from pecia.kernel.tool.model import AnyTool
from pecia.kernel.tool.view import View, of_room
from pecia.rooms.desk.room import CALL_TOOL, desk_view, target

KEPT = 512


# An offer is itself and equal to no other, which makes it a cheap key.
@dataclass(frozen=True, slots=True, eq=False)
class Offer:
    """Tools by name, and the rooms whose resources and prompts are served beside them."""

    view: View
    rooms: tuple[Room, ...]
    reach: View | None = None
    """At the front desk: all that can be called from there, listed or not."""
    is_narrowed: bool = False

    @property
    def is_lean(self) -> bool:
        """Whether every token of the list counts."""
        return self.reach is not None

    def find(self, name: str) -> AnyTool | None:
        """The tool of that name, None where there is none."""
        return self.view.tools.get(name) or self.view.aliases.get(name)

    def meant(
        self, name: str, arguments: Mapping[str, Json]
    ) -> tuple[str, Mapping[str, Json], View]:
        """Which tool is really called, with what, and among which it is looked for."""
        if self.reach is not None and name == CALL_TOOL and (it := target(arguments)) is not None:
            return it.name, it.arguments, self.reach
        return name, arguments, self.view


class Offers:
    """Every endpoint's offer, made once for each way of narrowing it."""

    def __init__(self, app: App, lean: Sequence[str], extra: Sequence[Room] = ()) -> None:
        self._app = app
        self._lean = tuple(lean)
        self._extra = {room.name: room for room in extra}
        hosts = (room.name for room in app.rooms if room.guests is not None)
        self._hosts = frozenset((DESK, ALL, CIPHER, *hosts))
        self.of = lru_cache(KEPT)(self._of)

    def wanted(self, endpoint: Endpoint, session: Mapping[str, Json]) -> Wanted | None:
        """What this session wants of the toolset that sessions may choose from."""
        return wanted(self._app.settings, session) if endpoint.shows == CIPHER else None

    def has_guests(self, endpoint: Endpoint, wants: Wanted | None = None) -> bool:
        """Whether tools are shown there that come and go."""
        return endpoint.shows in self._hosts and (wants is None or wants.aggregates)

    def _of(
        self,
        endpoint: Endpoint,
        asked: Narrowing,
        guests: GuestList = NO_GUESTS,
        wants: Wanted | None = None,
    ) -> Offer:
        rooms = self._rooms(endpoint, asked)
        narrowed = self._shown(endpoint, guests, wants).narrowed(
            rooms=asked.rooms,
            tools=asked.tools,
            exclude=asked.exclude,
            read_only=endpoint.read_only or asked.read_only,
        )
        is_narrowed = asked != EVERYTHING
        if endpoint.shows == DESK:
            desk = desk_view(narrowed, self._lean, self._app.embedder)
            return Offer(desk, rooms, narrowed, is_narrowed)
        if wants is not None:
            return Offer(in_words_of_reference(narrowed, wants), rooms, None, is_narrowed)
        return Offer(narrowed, rooms, None, is_narrowed)

    def _shown(self, endpoint: Endpoint, guests: GuestList, wants: Wanted | None) -> View:
        if endpoint.shows == CIPHER:
            asks = wants or wanted(self._app.settings, {})
            return cipher_view(self._app.tools, guests.tools, asks)
        base = self._base(endpoint)
        return base.joined(guests.tools) if guests.tools else base

    def _base(self, endpoint: Endpoint) -> View:
        if endpoint.shows in (DESK, ALL):
            return self._app.everything
        if extra := self._extra.get(endpoint.shows):
            return of_room(extra.tools, extra.name)
        return of_room(self._app.tools, endpoint.shows)

    def _rooms(self, endpoint: Endpoint, asked: Narrowing) -> tuple[Room, ...]:
        if extra := self._extra.get(endpoint.shows):
            return (extra,)
        every = endpoint.shows in (DESK, ALL)
        return tuple(
            room
            for room in self._app.rooms
            if (every or room.name == endpoint.shows)
            and (asked.rooms is None or room.name in asked.rooms)
        )
