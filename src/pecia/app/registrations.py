"""The built-in features, each registered once. Imports no feature: every command reads settings."""

from pecia.features.cascade.settings import CascadeSettings
from pecia.features.ckf.settings import CkfSettings
from pecia.features.discovery.settings import DiscoverySettings
from pecia.features.hub.settings import HubSettings
from pecia.features.lake.settings import LakeSettings
from pecia.features.memory.settings import MemorySettings
from pecia.features.wiki.settings import WikiSettings
from pecia.kernel.registration import FeatureRegistration

CONTENT_FEATURES = (
    FeatureRegistration(
        "lake",
        "pecia.app.composition.lake:build_lake_feature",
        (LakeSettings,),
        "pecia.features.lake.schema",
    ),
    FeatureRegistration(
        "cascade", "pecia.app.composition.cascade:build_cascade_feature", (CascadeSettings,)
    ),
    FeatureRegistration(
        "ckf",
        "pecia.app.composition.ckf:build_ckf",
        (CkfSettings,),
        "pecia.features.ckf.schema",
        is_deferred=True,
    ),
    FeatureRegistration(
        "wiki",
        "pecia.app.composition.wiki:build_wiki",
        (WikiSettings,),
        "pecia.features.wiki.schema",
    ),
    FeatureRegistration(
        "memory",
        "pecia.app.composition.memory:build_memory",
        (MemorySettings,),
        "pecia.features.memory.schema",
    ),
)

# Built after all others, whose tools and purges they look at.
OVERSIGHT_FEATURES = (
    FeatureRegistration("admin", "pecia.app.composition.admin:build_admin_feature"),
    FeatureRegistration(
        "hub",
        "pecia.app.composition.hub:build_hub",
        (HubSettings,),
        "pecia.features.hub.schema",
    ),
    # A view of the tools, made by the MCP interface.
    FeatureRegistration("desk", settings=(DiscoverySettings,)),
)

BUILT_IN_FEATURES = (*CONTENT_FEATURES, *OVERSIGHT_FEATURES)
