"""The hub of a server, with its way to others handed in: programs, and sites under the guard."""

import os
import pwd
from collections.abc import Callable, Iterable
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

from pecia.kernel.room import Room
from pecia.kernel.secrets.keyring import Keyring
from pecia.kernel.settings.load import Settings
from pecia.kernel.store.store import Store
from pecia.kernel.tool.confirmation import Confirmations
from pecia.rooms.hub.model import Place
from pecia.rooms.hub.room import Ours, hub_room, open_hub
from pecia.rooms.hub.settings import HubSettings
from pecia.rooms.lake.settings import LakeSettings

if TYPE_CHECKING:
    from pecia.adapters.upstream.line import Line, Lines

# The owner of a machine reaches what runs on it.
OWN_MACHINE = ("127.0.0.0/8", "::1/128", "localhost")


# The front desk's own, which are in no room.
OF_THE_DESK = frozenset({"find_tools", "call_tool"})


@dataclass(frozen=True)
class Ways:
    """Lines to servers. A program finds what a program needs around it, and nothing of ours."""

    settings: Settings

    def open(
        self, place: Place, hear: Callable[[str], None]
    ) -> "AbstractAsyncContextManager[Line]":
        if not place.argv:
            return self._lines.open(place, hear)
        me = pwd.getpwuid(os.getuid())
        path = self.settings.part(HubSettings).program_path
        around = {"PATH": path, "HOME": me.pw_dir, "USER": me.pw_name, "LANG": "C.UTF-8"}
        return self._lines.open(replace(place, env={**around, **place.env}), hear)

    @cached_property
    def _lines(self) -> "Lines":
        # Most processes never talk to an upstream, and should not pay for what it takes.
        from pecia.adapters.http.guard import Guard
        from pecia.adapters.http.rules import Rules
        from pecia.adapters.http.transport import trusting
        from pecia.adapters.upstream.line import Lines
        from pecia.adapters.upstream.web import Web

        given, lake = self.settings.part(HubSettings), self.settings.part(LakeSettings)
        own = OWN_MACHINE if self.settings.kernel.mode == "local" else ()
        guard = Guard(Rules.trusting((*given.trusted_hosts, *own)))
        tls = trusting(lake.authorities) if lake.authorities else None
        web = Web(guard, tls, given.answer_bytes)
        return Lines(web, line_bytes=given.answer_bytes)


def upstream_room(
    settings: Settings, store: Store, keyring: Keyring, others: Iterable[Room]
) -> Room:
    """The room over the servers that are written down here."""
    built_in = {*OF_THE_DESK, *(tool.name for room in others for tool in room.tools)}
    is_local = settings.kernel.mode == "local"
    ours = Ours(built_in, is_local, Confirmations(store, keyring))
    hub = open_hub(store, keyring, Ways(settings), settings.part(HubSettings), ours)
    room = hub_room(hub, ours)
    # Its own names as well, which are known from now on.
    built_in.update(it.name for it in room.tools)
    return room
