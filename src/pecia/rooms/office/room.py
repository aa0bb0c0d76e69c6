"""The office: people, tokens, rights, secrets and the audit trail, as tools like any other."""

from pecia.kernel.room import Room
from pecia.kernel.secrets.keyring import Keyring
from pecia.kernel.store.audit import Ledger
from pecia.kernel.store.store import Store
from pecia.kernel.tool.confirmation import Confirmations
from pecia.rooms.office.directory import directory_tools
from pecia.rooms.office.people import people_tools
from pecia.rooms.office.purge import Purger, purge_tools
from pecia.rooms.office.rights import rights_tools
from pecia.rooms.office.secrets import secret_tools
from pecia.rooms.office.spaces import FolderCheck, space_tools
from pecia.rooms.office.tokens import token_tools
from pecia.rooms.office.trail import trail_tools


def office(
    store: Store,
    ledger: Ledger,
    keyring: Keyring,
    purgers: tuple[Purger, ...],
    folders: FolderCheck,
) -> Room:
    """The room, over one store. `purgers` are the other rooms' own."""
    return Room(
        "office",
        tools=(
            *people_tools(store),
            *directory_tools(store),
            *purge_tools(store, ledger, purgers),
            *rights_tools(store),
            *secret_tools(store, keyring),
            *space_tools(store, folders, Confirmations(store, keyring)),
            *token_tools(store),
            *trail_tools(store, ledger),
        ),
    )
