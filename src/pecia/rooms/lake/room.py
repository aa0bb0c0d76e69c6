"""The lake: files found by search and read by window. So far its catalogue can be browsed."""

from pecia.kernel.room import Room
from pecia.kernel.store.store import Store
from pecia.rooms.lake.browse import browse_tools


def lake(store: Store) -> Room:
    """The room, over one store."""
    return Room("lake", tools=browse_tools(store))
