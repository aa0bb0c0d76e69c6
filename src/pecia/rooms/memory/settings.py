"""The settings of the memory room, and the names the references gave them."""

from typing import Literal, TypeAlias

from pecia.kernel.settings.model import Part, setting

ServerMode: TypeAlias = Literal["default", "aggregator"]


class MemorySettings(Part):
    """What the toolset `cipher` lists. `/mcp/memory` always lists the whole room."""

    section = "memory"

    server_mode: ServerMode = setting(
        "default",
        description="`default` lists ask_cipher alone, `aggregator` the memory tools and the hub.",
        env=("MCP_SERVER_MODE",),
        lenient=frozenset({"MCP_SERVER_MODE"}),
        project=True,
    )
    use_ask_cipher: bool | None = setting(
        None,
        description="List ask_cipher. Unset: in default mode only, where it is the only tool.",
        env=("USE_ASK_CIPHER",),
        project=True,
    )
    only_contact: bool = setting(
        False,
        description="List contact_ct_knowledge_management and nothing else.",
        env=("MCP_ONLY_CONTACT_CT_KNOWLEDGE_MANAGEMENT",),
        project=True,
    )
