"""HTTP routes of the editor in the browser, imported with the first request for one.

Not tools: the MCP tools of the wiki are exactly those of the reference.
"""

from typing import TYPE_CHECKING

from pecia.features.wiki.space import Wiki
from pecia.kernel.feature import FeatureRoute
from pecia.kernel.on_demand import OnDemand

if TYPE_CHECKING:
    from pecia.features.wiki.pages.assets import AssetPages
    from pecia.features.wiki.pages.versions import VersionPages


def page_routes(wiki: Wiki) -> tuple[FeatureRoute, ...]:
    assets: OnDemand[AssetPages] = OnDemand("pecia.features.wiki.pages.assets:AssetPages", wiki)
    versions: OnDemand[VersionPages] = OnDemand(
        "pecia.features.wiki.pages.versions:VersionPages", wiki
    )
    show_asset, add_asset = assets.handler(lambda it: it.show), assets.handler(lambda it: it.add)
    show = versions.handler(lambda it: it.show)
    list_deleted = versions.handler(lambda it: it.list_deleted)
    return (
        FeatureRoute("GET", "/wiki/asset", "wiki/asset", show_asset),
        FeatureRoute("POST", "/wiki/asset", "wiki/add_asset", add_asset),
        FeatureRoute("GET", "/wiki/version", "wiki/version", show),
        FeatureRoute("GET", "/wiki/deleted", "wiki/deleted", list_deleted),
    )
