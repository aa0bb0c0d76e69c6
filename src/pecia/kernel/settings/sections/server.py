"""The kernel's settings for listening, limits, MCP and logs. Only words; nothing is opened here."""

from typing import Literal, TypeAlias

from pecia.kernel.settings.layers.convert import convert_debug, convert_log_level
from pecia.kernel.settings.model import SettingsSection, setting
from pecia.kernel.settings.types import (
    AbsolutePath,
    Network,
    Port,
    PositiveInt,
    Rate,
    Seconds,
    WebUrl,
)

ServerMode: TypeAlias = Literal["local", "server"]
OwnerProof: TypeAlias = Literal["process", "token"]
McpRoot: TypeAlias = Literal["desk", "all", "lake", "ckf", "wiki", "cascade", "memory", "cipher"]
LogLevel: TypeAlias = Literal["debug", "info", "warning", "error"]
LogFormat: TypeAlias = Literal["text", "json"]

MIB = 1024 * 1024


class ListenSettings(SettingsSection):
    """Where the server listens, and which proxies it trusts."""

    mode: ServerMode = setting(
        "local",
        description="`local`: loopback, one owner, no password. `server`: tenants and tokens.",
    )
    host: str = setting(
        "127.0.0.1",
        description="The address to listen on. Local mode takes only loopback.",
    )
    port: Port = setting(
        7324,
        description="The port to listen on; 0 takes a free one.",
        env=("MCP_PORT", "PORT"),
        project=True,
    )
    owner_proof: OwnerProof = setting(
        "process",
        description="In local mode. `process`: processes of the user who runs the server are the "
        "owner (Linux only), and so is the owner's token. `token`: only the token.",
    )
    public_url: WebUrl | None = setting(
        None,
        description="Where people and agents reach this server from outside; links begin with it.",
        env=("KDBL_API_PUBLIC_URL",),
    )
    trusted_proxies: tuple[Network, ...] = setting(
        (),
        description="Networks whose `X-Forwarded-*` headers are trusted.",
    )
    allowed_hosts: tuple[str, ...] = setting(
        (),
        description="`Host` headers accepted beside the listening address and the public URL.",
    )
    allowed_origins: tuple[str, ...] = setting(
        (),
        description="`Origin` headers accepted beside our own.",
    )


class LimitSettings(SettingsSection):
    """How much one caller may ask, and how long anything may take."""

    body_limit_bytes: PositiveInt = setting(
        10 * MIB, description="The longest request body.", unit="bytes"
    )
    request_timeout_s: Seconds = setting(
        60.0, description="The deadline of a call that names none.", unit="s"
    )
    request_timeout_max_s: Seconds = setting(
        300.0, description="The longest deadline a caller may ask for.", unit="s"
    )
    shutdown_grace_s: Seconds = setting(
        10.0, description="How long running calls may finish when the server stops.", unit="s"
    )
    principal_rate_per_s: Rate = setting(
        50.0,
        description="Rate limit: calls a second that one principal may make for long.",
        unit="1/s",
    )
    principal_burst: PositiveInt = setting(
        200, description="Calls one principal may make at once after a rest."
    )
    running_max: PositiveInt = setting(
        16, description="Calls that run at one time; others wait for their turn."
    )
    tenant_running_max: PositiveInt = setting(
        12,
        description="Limit of a tenant: its calls that run at one time, on a server.",
    )
    principal_running_max: PositiveInt = setting(
        4, description="Calls of one principal that run at one time."
    )
    principal_waiting_max: PositiveInt = setting(
        256, description="Calls of one principal that may wait; more are refused as RATE_LIMITED."
    )
    queue_timeout_s: Seconds = setting(
        30.0,
        description="How long a call may wait for its turn, within its own deadline.",
        unit="s",
    )
    address_rate_per_s: Rate = setting(
        10.0,
        description="Calls a second from one address without a good token.",
        unit="1/s",
    )
    address_burst: PositiveInt = setting(
        40, description="Calls at once from one address without a good token."
    )


class EndpointSettings(SettingsSection):
    """What is served."""

    mcp_enabled: bool = setting(True, description="Serve MCP.", env=("KDBL_MCP_ENABLED",))
    mcp_root: McpRoot = setting(
        "desk",
        description="What `/mcp` and `/sse` serve: `desk` (discovery), `all`, or one toolset.",
        project=True,
    )
    mcp_sessions_per_user: PositiveInt = setting(
        100,
        description="MCP sessions and streams that one user may have open; without a token, one "
        "address. Past it the longest idle one ends.",
    )
    mcp_sessions_max: PositiveInt = setting(
        10_000, description="MCP sessions and streams that this process may have open."
    )
    mcp_sessions_per_minute: PositiveInt = setting(
        120, description="MCP sessions that one user may begin a minute."
    )
    mcp_session_idle_s: Seconds = setting(
        600.0,
        description="How long an MCP session without a request or a stream stays open.",
        unit="s",
    )
    resource_url: WebUrl | None = setting(
        None,
        description="The resource that tokens are issued for. Unset: the public URL and `/mcp`.",
    )
    metrics_enabled: bool = setting(True, description="Serve `/metrics`.")
    metrics_from_loopback: bool = setting(
        False,
        description="In server mode, show `/metrics` to this machine without a token. "
        "Behind a proxy on this machine that is everybody.",
    )


class LogSettings(SettingsSection):
    """What is logged, and where."""

    log_level: LogLevel = setting(
        "info",
        description="The least important records that are kept.",
        env=("MCP_LOG_LEVEL", "CIPHER_LOG_LEVEL", "DEBUG"),
        convert={
            "MCP_LOG_LEVEL": convert_log_level,
            "CIPHER_LOG_LEVEL": convert_log_level,
            "DEBUG": convert_debug,
        },
        project=True,
    )
    log_format: LogFormat = setting(
        "text", description="`text` for people, `json` for machines.", project=True
    )
    log_file: AbsolutePath | None = setting(
        None,
        description="A file that gets every record too. Stderr always does.",
        env=("CIPHER_MCP_LOG_FILE", "OK_LOG_FILE"),
    )
    log_file_max_bytes: PositiveInt = setting(
        10 * MIB,
        description="The size at which the log file is put aside and a new one begun.",
        unit="bytes",
    )
    log_files_kept: PositiveInt = setting(5, description="How many log files put aside are kept.")
