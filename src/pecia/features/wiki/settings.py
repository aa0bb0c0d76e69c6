"""Wiki settings that are read once. A space's own configuration is read live, not here."""

from pydantic import NonNegativeFloat, PositiveInt

from pecia.features.wiki.config.schema import LEAVES, REMOVED_KEYS
from pecia.kernel.settings.layers.convert import parse_milliseconds
from pecia.kernel.settings.model import SettingsSection, setting


class WikiSettings(SettingsSection):
    """Settings of live documents, previews, and of `pecia mcp`."""

    section = "wiki"
    live = frozenset(".".join(it) for it in (*LEAVES, *REMOVED_KEYS))

    mcp_autostart: bool = setting(
        True,
        description="`pecia mcp` starts the server when none is running.",
        env=("OK_MCP_AUTOSTART",),
        keys=("mcp.autoStart",),
        project=True,
    )
    mcp_spawn_timeout_s: float = setting(
        5.0,
        description="How long `pecia mcp` waits for a server that it started.",
        env=("OK_MCP_SPAWN_TIMEOUT_MS",),
        convert={"OK_MCP_SPAWN_TIMEOUT_MS": parse_milliseconds},
        unit="s",
    )
    mcp_idle_stop_s: NonNegativeFloat = setting(
        0.0,
        description="A server that `pecia mcp` started stops after so long without a request; 0: "
        "never.",
        unit="s",
    )
    home_space: str | None = setting(
        None,
        description="The folder that `pecia mcp` serves outside of every project, when no server "
        "runs.",
    )
    user_file: str = setting(
        "~/.pecia/config.yml",
        description="The machine owner's own configuration of spaces.",
    )
    desktop_links: bool = setting(
        False,
        description="Document links open a desktop app via `openknowledge://`.",
        env=("OK_ELECTRON_PROTOCOL_HOST",),
    )
    preview_base_url: str | None = setting(
        None,
        description="Base URL of previews; overrides lock file and project setting.",
        env=("OPEN_KNOWLEDGE_PREVIEW_BASE_URL",),
    )
    start_wait_s: NonNegativeFloat = setting(
        2.0,
        description="How long tools that read wait for a space that is read for the first time "
        "since the start, in seconds; then they answer from its files, and say what is missing.",
    )
    live_editors: PositiveInt = setting(
        64, description="How many editors may have one document open."
    )
    live_documents: PositiveInt = setting(
        500, description="How many documents may be open in one process."
    )
    live_message_bytes: PositiveInt = setting(
        1_000_000, description="Maximum size of one editor message."
    )
    live_document_bytes: PositiveInt = setting(
        2_000_000, description="Maximum size of a live document."
    )
    live_messages_per_s: PositiveInt = setting(
        100, description="Rate limit of one editor, in messages per second."
    )
    live_rights_s: NonNegativeFloat = setting(
        1.0,
        description="TTL of cached rights of an editor that only reads, in seconds.",
    )
