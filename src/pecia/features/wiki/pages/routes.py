"""HTTP routes of the editor in the browser.

Not tools: the MCP tools of the wiki are exactly those of the reference.
"""

from pecia.features.wiki.pages.assets import AssetPages
from pecia.features.wiki.pages.versions import VersionPages
from pecia.features.wiki.space import Wiki
from pecia.kernel.feature import FeatureRoute


def page_routes(wiki: Wiki) -> tuple[FeatureRoute, ...]:
    assets, versions = AssetPages(wiki), VersionPages(wiki)
    return (
        FeatureRoute("GET", "/wiki/asset", "wiki/asset", assets.show),
        FeatureRoute("POST", "/wiki/asset", "wiki/add_asset", assets.add),
        FeatureRoute("GET", "/wiki/version", "wiki/version", versions.show),
        FeatureRoute("GET", "/wiki/deleted", "wiki/deleted", versions.list_deleted),
    )
