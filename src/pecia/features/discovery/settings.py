"""The settings of the front desk, and of the toolset that proves the protocol."""

from pecia.kernel.settings.model import SettingsSection, setting


class DiscoverySettings(SettingsSection):
    """What agents see first."""

    section = "desk"

    tools: tuple[str, ...] = setting(
        (),
        description="The tools that the front desk lists beside `find_tools` and `call_tool`. "
        "Empty: a dozen that most work begins with.",
        project=True,
    )
    conformance: bool = setting(
        False,
        description="Serve `/mcp/conformance`, the fixtures of the MCP conformance suite. For "
        "tests only.",
    )
