"""The hub, put together."""

from collections.abc import Collection
from dataclasses import dataclass

from pecia.kernel.room import Room
from pecia.kernel.secrets.keyring import Keyring
from pecia.kernel.store.store import Store
from pecia.kernel.tool.confirmation import Confirmations
from pecia.rooms.hub.adding import Consent
from pecia.rooms.hub.board import Switchboard
from pecia.rooms.hub.guests import Guests
from pecia.rooms.hub.hub import ROOM, Hub, Limits
from pecia.rooms.hub.keeping import Keeping, keeping_tools
from pecia.rooms.hub.listed import File
from pecia.rooms.hub.naming import Naming
from pecia.rooms.hub.ports import Outside
from pecia.rooms.hub.registry import Registry
from pecia.rooms.hub.secrets import Vault
from pecia.rooms.hub.seeing import seeing_tools
from pecia.rooms.hub.settings import HubSettings


@dataclass(frozen=True, slots=True)
class Ours:
    """What the hub must know of the house: the names no server's tool may take, and whose it is."""

    names: Collection[str]
    is_own_machine: bool
    confirmations: Confirmations


def open_hub(
    store: Store,
    keyring: Keyring,
    outside: Outside,
    settings: HubSettings,
    ours: Ours,
) -> Hub:
    """The verbs, over the store and the way out."""
    naming = Naming(settings.on_conflict, settings.prefix_always, ours.names)
    vault, path = Vault(keyring), settings.servers_file
    return Hub(
        Registry(store, vault, naming),
        Switchboard(outside, connect_s=settings.connect_timeout_s),
        outside,
        Limits(settings.timeout_s, settings.answer_bytes),
        File(store, vault, path, is_own_machine=ours.is_own_machine) if path else None,
    )


def hub_room(hub: Hub, ours: Ours) -> Room:
    """The room over them."""
    consent, guests = Consent(ours.is_own_machine, ours.confirmations), Guests(hub)
    return Room(
        ROOM,
        tools=(*seeing_tools(hub, guests), *keeping_tools(Keeping(hub, consent))),
        running=hub.running,
        guests=guests,
        settings=(HubSettings,),
        migrations="pecia.rooms.hub.schema",
    )
