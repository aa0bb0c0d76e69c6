"""The kernel's own settings as one part, and the rules that bind two of them."""

from collections.abc import Iterator
from ipaddress import ip_address

from pecia.kernel.settings.model import SettingConflict
from pecia.kernel.settings.sections.security import (
    DownloadSettings,
    OidcSettings,
    PublicAccessSettings,
)
from pecia.kernel.settings.sections.server import (
    EndpointSettings,
    LimitSettings,
    ListenSettings,
    LogSettings,
)
from pecia.kernel.settings.sections.storage import (
    DatabaseSettings,
    QuotaSettings,
    RetentionSettings,
    WorkerSettings,
)


# Pydantic lists the fields of the last base first, so the page reads from the bottom up.
class KernelSettings(
    WorkerSettings,
    QuotaSettings,
    RetentionSettings,
    LogSettings,
    DownloadSettings,
    PublicAccessSettings,
    OidcSettings,
    EndpointSettings,
    LimitSettings,
    DatabaseSettings,
    ListenSettings,
):
    """Everything the foundation needs. A variable is `PECIA_` and the field in capitals."""

    def clashes(self) -> Iterator[SettingConflict]:
        yield from self._listening_clashes()
        yield from self._slot_clashes()
        yield from self._database_clashes()
        yield from self._trust_clashes()

    def _listening_clashes(self) -> Iterator[SettingConflict]:
        if self.mode == "local" and not is_loopback(self.host):
            yield SettingConflict("host", "a loopback address in local mode")
        if self.request_timeout_s > self.request_timeout_max_s:
            yield SettingConflict("request_timeout_s", "at most request_timeout_max_s")

    def _slot_clashes(self) -> Iterator[SettingConflict]:
        if self.tenant_running_max > self.running_max:
            yield SettingConflict("tenant_running_max", "at most running_max")
        if self.principal_running_max > self.tenant_running_max:
            yield SettingConflict("principal_running_max", "at most tenant_running_max")

    def _database_clashes(self) -> Iterator[SettingConflict]:
        if self.pool_min_size > self.pool_max_size:
            yield SettingConflict("pool_min_size", "at most pool_max_size")
        for name in ("database_owner_url", "database_system_url"):
            if getattr(self, name) is not None and self.database_url is None:
                yield SettingConflict(name, "unset, or set together with database_url")

    def _trust_clashes(self) -> Iterator[SettingConflict]:
        if self.public_toolsets and self.public_tenant is None:
            yield SettingConflict("public_toolsets", "empty, or set together with public_tenant")
        if self.oidc_jwks_url is not None and self.oidc_jwks_file is not None:
            yield SettingConflict("oidc_jwks_file", "unset when oidc_jwks_url is set")
        if self.oidc_issuer is not None and self.resource_url is None and self.public_url is None:
            yield SettingConflict(
                "oidc_issuer", "unset, or set together with resource_url or public_url"
            )
        for name in ("oidc_audience", "oidc_jwks_url", "oidc_jwks_file", "oidc_tenant"):
            if getattr(self, name) and self.oidc_issuer is None:
                yield SettingConflict(name, "unset, or set together with oidc_issuer")


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach that address."""
    if host == "localhost":
        return True
    try:
        return ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False
