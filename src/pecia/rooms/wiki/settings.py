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
