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
    """How other servers' tools appear under our roof."""

    section = "hub"

    timeout_s: Seconds = setting(
        60.0,
        description="How long a call through the hub may take, our own tools included.",
        unit="s",
        env=("AGGREGATOR_TIMEOUT",),
        convert={"AGGREGATOR_TIMEOUT": parse_milliseconds},
        project=True,
    )
    on_conflict: OnConflict = setting(
        "prefix",
        description="Two tools of one name: prefix with the server, keep the first, or stop.",
        env=("AGGREGATOR_CONFLICT_RESOLUTION",),
        project=True,
    )
    prefix_always: bool = setting(
        False,
        description="Put the server before the name of every upstream tool, not only on conflict.",
        env=("AGGREGATOR_PREFIX_ALWAYS",),
        project=True,
    )
    servers_file: AbsolutePath | None = setting(
        None,
        description="A JSON or YAML file with `mcpServers`: servers that the operator names. On a "
        "server each says in `tenants` for whom.",
    )
    connect_timeout_s: Seconds = setting(
        60.0,
        description="How long a server may take to start and shake hands.",
        unit="s",
    )
    answer_bytes: PositiveInt = setting(
        10_000_000, description="How large one answer of a server may be.", unit="bytes"
    )
    trusted_hosts: tuple[str, ...] = setting(
        (),
        description="Hosts in the own network that servers may be on, as `host`, `host:port` or a "
        "network. Public ones need no naming; a local install may reach its own machine. On a "
        "server it holds for those of hub.servers_file; for the others each tenant is given its "
        "own: `pecia tenant allow`.",
    )
    program_path: str = setting(
        "/usr/local/bin:/usr/bin:/bin",
        description="Where programs of servers are looked for.",
        env=("PATH",),
    )


def timeout_in(session: Mapping[str, Json], usual_s: float) -> float:
    """How long a call of this session may take."""
    return apply_session(HubSettings(timeout_s=usual_s), session, ("timeout_s",)).timeout_s
