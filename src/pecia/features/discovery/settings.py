"""Settings of the default toolset, and of the MCP conformance toolset."""

from pecia.kernel.settings.model import SettingsSection, setting


class DiscoverySettings(SettingsSection):
    """The default toolset at `/mcp`."""

    section = "desk"

    tools: tuple[str, ...] = setting(
        (),
        description="The tools of the default toolset, beside `find_tools` and `call_tool`. "
        "Empty: a dozen common ones.",
        project=True,
    )
    conformance: bool = setting(
        False,
        description="Serve `/mcp/conformance`, the fixtures of the MCP conformance suite. For "
        "tests only.",
    )
