"""Composition of the hub."""

from collections.abc import Collection
from dataclasses import dataclass

from pecia.features.hub.configured_servers import ServersFile
from pecia.features.hub.connection_pool import ConnectionPool
from pecia.features.hub.core.tool_name import ToolNamePolicy
from pecia.features.hub.dynamic_tools import UpstreamTools
from pecia.features.hub.hub import FEATURE, Hub, HubLimits
from pecia.features.hub.ports import UpstreamGateway
from pecia.features.hub.registration import ServerConsent
from pecia.features.hub.secrets import ServerVault
from pecia.features.hub.settings import HubSettings
from pecia.features.hub.store import ServerRegistry
from pecia.kernel.feature import Feature
from pecia.kernel.secrets.keyring import Keyring
from pecia.kernel.store.store import Store
from pecia.kernel.tool.confirmation import Confirmations
from pecia.kernel.tool.on_demand import deferred_tools

INSTRUCTIONS = (
    "Tools of other MCP servers, under the rights and the audit log of this one. list_servers says "
    "which there are, list_server_tools what they do and take, call_server_tool calls one. Their "
    "answers are theirs: nothing here has verified them."
)


@dataclass(frozen=True, slots=True)
class HubContext:
    """What the hub needs from the app: reserved tool names, and whether the install is local."""

    names: Collection[str]
    is_own_machine: bool
    confirmations: Confirmations


def open_hub(
    store: Store,
    keyring: Keyring,
    outside: UpstreamGateway,
    settings: HubSettings,
    ours: HubContext,
) -> Hub:
    """The hub service, over the store and the upstream gateway."""
    naming = ToolNamePolicy(settings.on_conflict, settings.prefix_always, ours.names)
    vault, path = ServerVault(keyring), settings.servers_file
    return Hub(
        ServerRegistry(store, vault, naming),
        ConnectionPool(outside, connect_s=settings.connect_timeout_s),
        outside,
        HubLimits(settings.timeout_s, settings.answer_bytes),
        ServersFile(store, vault, path, is_own_machine=ours.is_own_machine) if path else None,
    )


def build_hub_feature(hub: Hub, ours: HubContext) -> Feature:
    """The feature over the service."""
    consent, upstream_tools = (
        ServerConsent(ours.is_own_machine, ours.confirmations),
        UpstreamTools(hub),
    )
    return Feature(
        FEATURE,
        instructions=INSTRUCTIONS,
        tools=(
            *deferred_tools(
                "pecia.features.hub.tools.server_tools:server_user_tools", hub, upstream_tools
            ),
            *deferred_tools("pecia.features.hub.tools.servers:server_admin_tools", hub, consent),
        ),
        lifespan=hub.running,
        dynamic_tools=upstream_tools,
    )
