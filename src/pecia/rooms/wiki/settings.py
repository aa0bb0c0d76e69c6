"""The settings of the wiki that are read once. A space's own configuration is live: not here."""

from pecia.kernel.settings.model import Part, setting


class WikiSettings(Part):
    """How an editor's shim finds or starts the server."""

    section = "wiki"
    live = frozenset(
        {
            "appearance",
            "autoSync",
            "content",
            "folders",
            "git",
            "github",
            "mcp",
            "preview",
            "server",
        }
    )

    mcp_autostart: bool = setting(
        True,
        description="`pecia mcp` starts the server when none is running.",
        env=("OK_MCP_AUTOSTART",),
        keys=("mcp.autoStart",),
        project=True,
    )
    user_file: str = setting(
        "~/.pecia/config.yml",
        description="The machine owner's own configuration of spaces.",
    )
    desktop_links: bool = setting(
        False,
        description="Links to documents open a desktop app that knows `openknowledge://`.",
        env=("OK_ELECTRON_PROTOCOL_HOST",),
    )
    preview_base_url: str | None = setting(
        None,
        description="Where documents are shown to people, before any lock or project setting.",
        env=("OPEN_KNOWLEDGE_PREVIEW_BASE_URL",),
    )
