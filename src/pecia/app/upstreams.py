"""The hub of a server, with its way to others handed in: programs, and sites under the guard."""

from collections.abc import Callable, Iterable
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING
from uuid import UUID

from pecia.kernel.errors import UpstreamError
from pecia.kernel.room import Room
from pecia.kernel.secrets.keyring import Keyring
from pecia.kernel.settings.account import account_home, account_name
from pecia.kernel.settings.load import Settings
from pecia.kernel.store.store import Store
from pecia.kernel.tool.confirmation import Confirmations
from pecia.rooms.hub.model import Place
from pecia.rooms.hub.room import Ours, hub_room, open_hub
from pecia.rooms.hub.settings import HubSettings
from pecia.rooms.lake.reach import reach_of
from pecia.rooms.lake.settings import LakeSettings

if TYPE_CHECKING:
    import ssl

    from pecia.adapters.http.guard import Guard
    from pecia.adapters.upstream.line import Line, Lines

# The owner of a machine reaches what runs on it.
OWN_MACHINE = ("127.0.0.0/8", "::1/128", "localhost")


# The front desk's own, which are in no room.
OF_THE_DESK = frozenset({"find_tools", "call_tool"})


@dataclass(frozen=True)
class Ways:
    """Lines to servers. A program finds what a program needs around it, and nothing of ours."""

    settings: Settings
    store: Store

    async def hosts(self, tenant_id: UUID, *, is_operators: bool) -> tuple[str, ...]:
        """On a server what the operator gave this tenant; the shared list is for the own file."""
        trusted = self.settings.part(HubSettings).trusted_hosts
        if self._is_local:
            return (*trusted, *OWN_MACHINE)
        return trusted if is_operators else (await reach_of(self.store, tenant_id)).hosts

    async def check(self, place: Place) -> None:
        """On a server, refuse what a connection would refuse. A host without an address passes: it
        may have one later, and is then checked by whoever connects."""
        if place.argv or self._is_local:
            return
        guard = _guard(place)
        target = guard.rules.check(place.url)
        try:
            await guard.addresses(target.host, target.port)
        except UpstreamError:
            return

    def open(
        self, place: Place, hear: Callable[[str], None]
    ) -> "AbstractAsyncContextManager[Line]":
        if not place.argv:
            return self._lines(place).open(place, hear)
        path = self.settings.part(HubSettings).program_path
        around = {"PATH": path, "HOME": str(account_home()), "USER": account_name()}
        return self._lines(place).open(
            replace(place, env={**around, "LANG": "C.UTF-8", **place.env}), hear
        )

    @property
    def _is_local(self) -> bool:
        return self.settings.kernel.mode == "local"

    def _lines(self, place: Place) -> "Lines":
        # Most processes never talk to an upstream, and should not pay for what it takes.
        from pecia.adapters.upstream.line import Lines
        from pecia.adapters.upstream.web import Web

        most_bytes = self.settings.part(HubSettings).answer_bytes
        return Lines(Web(_guard(place), self._tls, most_bytes), line_bytes=most_bytes)

    @cached_property
    def _tls(self) -> "ssl.SSLContext | None":
        from pecia.adapters.http.transport import trusting

        authorities = self.settings.part(LakeSettings).authorities
        return trusting(authorities) if authorities else None


def _guard(place: Place) -> "Guard":
    from pecia.adapters.http.guard import Guard
    from pecia.adapters.http.rules import Rules

    return Guard(Rules.trusting(place.hosts))


def upstream_room(
    settings: Settings, store: Store, keyring: Keyring, others: Iterable[Room]
) -> Room:
    """The room over the servers that are written down here."""
    built_in = {*OF_THE_DESK, *(tool.name for room in others for tool in room.tools)}
    is_local = settings.kernel.mode == "local"
    ours = Ours(built_in, is_local, Confirmations(store, keyring))
    hub = open_hub(store, keyring, Ways(settings, store), settings.part(HubSettings), ours)
    room = hub_room(hub, ours)
    # Its own names as well, which are known from now on.
    built_in.update(it.name for it in room.tools)
    return room
