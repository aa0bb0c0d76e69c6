"""Builds the hub with its adapters: programs, and HTTP servers behind the egress guard."""

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING
from uuid import UUID

from pecia.features.hub.feature import HubContext, build_hub_feature, open_hub
from pecia.features.hub.model import ServerEndpoint
from pecia.features.hub.settings import HubSettings
from pecia.features.lake.allowlist import load_allowlist
from pecia.features.lake.settings import LakeSettings
from pecia.kernel.errors import UpstreamError
from pecia.kernel.feature import Feature, FeatureContext
from pecia.kernel.settings.account import account_home, account_name
from pecia.kernel.settings.load import Settings
from pecia.kernel.store.store import Store
from pecia.kernel.tool.confirmation import Confirmations

if TYPE_CHECKING:
    import ssl

    from pecia.adapters.http.guard import EgressGuard
    from pecia.adapters.upstream.connection import McpConnection, McpConnectionFactory

# The owner of a machine reaches what runs on it.
LOOPBACK_HOSTS = ("127.0.0.0/8", "::1/128", "localhost")


# Tools of discovery, which belong to no feature here.
DISCOVERY_TOOLS = frozenset({"find_tools", "call_tool"})


@dataclass(frozen=True)
class HubGateway:
    """Lines to servers. A program finds what a program needs around it, and nothing of ours."""

    settings: Settings
    store: Store

    async def hosts(self, tenant_id: UUID, *, is_operators: bool) -> tuple[str, ...]:
        """On a server what the operator gave this tenant; the shared list is for the own file."""
        trusted = self.settings.part(HubSettings).trusted_hosts
        if self._is_local:
            return (*trusted, *LOOPBACK_HOSTS)
        return trusted if is_operators else (await load_allowlist(self.store, tenant_id)).hosts

    async def check(self, endpoint: ServerEndpoint) -> None:
        """On a server, refuse what a connection would refuse. A host without an address passes: it
        may get one later, and is then checked on connect."""
        if endpoint.argv or self._is_local:
            return
        guard = _guard(endpoint)
        target = guard.rules.check(endpoint.url)
        try:
            await guard.addresses(target.host, target.port)
        except UpstreamError:
            return

    def open(
        self, endpoint: ServerEndpoint, on_list_changed: Callable[[str], None]
    ) -> "AbstractAsyncContextManager[McpConnection]":
        if not endpoint.argv:
            return self._connection_factory(endpoint).open(endpoint, on_list_changed)
        path = self.settings.part(HubSettings).program_path
        around = {"PATH": path, "HOME": str(account_home()), "USER": account_name()}
        env = {**around, "LANG": "C.UTF-8", **endpoint.env}
        started = replace(endpoint, secrets=replace(endpoint.secrets, env=env))
        return self._connection_factory(endpoint).open(started, on_list_changed)

    @property
    def _is_local(self) -> bool:
        return self.settings.kernel.mode == "local"

    def _connection_factory(self, endpoint: ServerEndpoint) -> "McpConnectionFactory":
        # Most processes never talk to an upstream, and should not pay for what it takes.
        from pecia.adapters.upstream.connection import McpConnectionFactory
        from pecia.adapters.upstream.streamable_http import HttpTransportOptions

        most_bytes = self.settings.part(HubSettings).answer_bytes
        return McpConnectionFactory(
            HttpTransportOptions(_guard(endpoint), self._tls, most_bytes), max_line_bytes=most_bytes
        )

    @cached_property
    def _tls(self) -> "ssl.SSLContext | None":
        from pecia.adapters.http.transport import build_tls_context

        authorities = self.settings.part(LakeSettings).authorities
        return build_tls_context(authorities) if authorities else None


def _guard(endpoint: ServerEndpoint) -> "EgressGuard":
    from pecia.adapters.http.egress_rules import EgressRules
    from pecia.adapters.http.guard import EgressGuard

    return EgressGuard(EgressRules.from_trusted_hosts(endpoint.hosts))


def build_hub(context: FeatureContext) -> Feature:
    """The hub feature over the configured servers."""
    settings, store, keyring = context.settings, context.store, context.keyring
    others = (tool.name for feature in context.features for tool in feature.tools)
    built_in = {*DISCOVERY_TOOLS, *others}
    is_local = settings.kernel.mode == "local"
    ours = HubContext(built_in, is_local, Confirmations(store, keyring))
    hub = open_hub(store, keyring, HubGateway(settings, store), settings.part(HubSettings), ours)
    feature = build_hub_feature(hub, ours)
    # Its own names as well, which are known from now on.
    built_in.update(it.name for it in feature.tools)
    return feature
