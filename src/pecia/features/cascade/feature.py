"""The cascade: layers resolved into one effective graph, dissent kept. One function builds it."""

from collections.abc import Mapping
from dataclasses import replace

from pecia.features.cascade.ports import CascadePorts
from pecia.features.cascade.registry import CascadeOrigin, CascadeRegistry
from pecia.features.cascade.reports import report_route
from pecia.features.cascade.resources import cascade_resource, cascade_template
from pecia.features.cascade.search import ConceptSearcher
from pecia.features.cascade.skills import CascadeSkills
from pecia.features.cascade.store import StoreSources
from pecia.features.cascade.trust import TrustFile
from pecia.kernel.corpus.catalog import catalog
from pecia.kernel.errors import NotFound
from pecia.kernel.feature import Feature
from pecia.kernel.identity.caller import Caller
from pecia.kernel.store.store import Store
from pecia.kernel.tool.on_demand import deferred_tools

FEATURE = "cascade"

INSTRUCTIONS = (
    "Concepts that several layers of documents contribute to, resolved into one. Begin with "
    "search, then read_file with the id of a concept: it names the layer of every part, and what "
    "other layers say instead. Cite okf:// URIs with the layer."
)


def build_cascade_registry(
    store: Store, places: Mapping[str, CascadeOrigin], ports: CascadePorts, trust: TrustFile
) -> CascadeRegistry:
    """The cascades of a server; the store decides rights to sources."""

    async def may_read(caller: Caller, source: str) -> bool:
        async with store.reading(caller) as tx:
            try:
                await catalog.get_source(tx, source)
            except NotFound:
                return False
        return True

    own = replace(ports, sources=StoreSources(store))
    return CascadeRegistry(places, own, trust, may_read)


def cascade_feature(cascades: CascadeRegistry, searcher: ConceptSearcher | None = None) -> Feature:
    """The feature over configured cascades."""

    async def overview(caller: Caller) -> list[str] | None:
        return await cascades.list_visible(caller) or None

    return Feature(
        FEATURE,
        instructions=INSTRUCTIONS,
        tools=deferred_tools(
            "pecia.features.cascade.tools.concepts:cascade_tools",
            cascades,
            searcher or ConceptSearcher(),
        ),
        resources=(cascade_resource(cascades),),
        templates=(cascade_template(cascades),),
        skills=CascadeSkills(cascades).list_skills,
        routes=(report_route(cascades),),
        services=(cascades,),
        overview=overview,
    )
