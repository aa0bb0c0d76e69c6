"""The settings of the hub, and the names the references gave them."""

from collections.abc import Mapping
from typing import Literal, TypeAlias

from pecia.kernel.errors import Json
from pecia.kernel.settings.layers.convert import parse_milliseconds
from pecia.kernel.settings.model import SettingsSection, setting
from pecia.kernel.settings.session import apply_session
from pecia.kernel.settings.types import AbsolutePath, PositiveInt, Seconds

OnConflict: TypeAlias = Literal["prefix", "first-wins", "error"]


class HubSettings(SettingsSection):
    """How upstream tools appear here."""

    section = "hub"

    timeout_s: Seconds = setting(
        60.0,
        description="Timeout of a call through the hub, our own tools included.",
        unit="s",
        env=("AGGREGATOR_TIMEOUT",),
        convert={"AGGREGATOR_TIMEOUT": parse_milliseconds},
        project=True,
    )
    on_conflict: OnConflict = setting(
        "prefix",
        description="Two tools of one name: prefix with the server, keep the first, or fail.",
        env=("AGGREGATOR_CONFLICT_RESOLUTION",),
        project=True,
    )
    prefix_always: bool = setting(
        False,
        description="Prefix every upstream tool with its server, not only on conflict.",
        env=("AGGREGATOR_PREFIX_ALWAYS",),
        project=True,
    )
    servers_file: AbsolutePath | None = setting(
        None,
        description="A JSON or YAML file with `mcpServers`: servers that the operator adds. On a "
        "server each names its `tenants`.",
    )
    connect_timeout_s: Seconds = setting(
        60.0,
        description="Timeout for starting and initializing a server.",
        unit="s",
    )
    answer_bytes: PositiveInt = setting(
        10_000_000, description="Maximum size of one answer of a server.", unit="bytes"
    )
    trusted_hosts: tuple[str, ...] = setting(
        (),
        description="Internal hosts that servers may be on, as `host`, `host:port` or a "
        "network. Public ones need no naming; a local install may reach its own machine. On a "
        "server it holds for those of hub.servers_file; for the others each tenant is given its "
        "own: `pecia tenant allow`.",
    )
    program_path: str = setting(
        "/usr/local/bin:/usr/bin:/bin",
        description="Where programs of servers are searched.",
        env=("PATH",),
    )


def timeout_in(session: Mapping[str, Json], usual_s: float) -> float:
    """The timeout of a call in this session."""
    return apply_session(HubSettings(timeout_s=usual_s), session, ("timeout_s",)).timeout_s
