"""The cascade: layers resolved into one effective graph, dissent kept. One function builds it."""

from collections.abc import Mapping
from dataclasses import replace

from pecia.kernel.corpus import catalog
from pecia.kernel.errors import NotFound
from pecia.kernel.identity.caller import Caller
from pecia.kernel.room import Room
from pecia.kernel.store.store import Store
from pecia.rooms.cascade.cascades import Cascades, Place
from pecia.rooms.cascade.ports import Ports
from pecia.rooms.cascade.reports import report_route
from pecia.rooms.cascade.resources import cascade_resource, cascade_template
from pecia.rooms.cascade.search import Searcher
from pecia.rooms.cascade.settings import CascadeSettings
from pecia.rooms.cascade.sources import StoreSources
from pecia.rooms.cascade.tools import ROOM, cascade_tools
from pecia.rooms.cascade.trust import TrustFile


def server_cascades(
    store: Store, places: Mapping[str, Place], ports: Ports, trust: TrustFile
) -> Cascades:
    """The cascades of a server: rights to sources are the store's to tell."""

    async def may_read(caller: Caller, source: str) -> bool:
        async with store.reading(caller) as tx:
            try:
                await catalog.get_source(tx, source)
            except NotFound:
                return False
        return True

    own = replace(ports, sources=StoreSources(store))
    return Cascades(places, own, trust, may_read)


def room_over(cascades: Cascades, searcher: Searcher | None = None) -> Room:
    """The room over cascades that somebody set up."""
    return Room(
        ROOM,
        tools=cascade_tools(cascades, searcher or Searcher()),
        resources=(cascade_resource(cascades),),
        templates=(cascade_template(cascades),),
        routes=(report_route(cascades),),
        settings=(CascadeSettings,),
    )
