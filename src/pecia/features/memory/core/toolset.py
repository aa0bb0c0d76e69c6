"""Which tools the toolset `cipher` lists, by its settings. Pure; the MCP interface applies it."""

from pecia.features.memory.settings import MemorySettings
from pecia.kernel.errors import ToolNotFound

ASK_TOOL = "ask_cipher"
CONTACT_TOOL = "contact_ct_knowledge_management"
WORKSPACE_TOOLS = frozenset(("cipher_workspace_search", "cipher_workspace_store"))
KNOWLEDGE_TOOLS = frozenset(("cipher_memory_search", "cipher_extract_and_operate_memory"))
REASONING_TOOLS = frozenset(
    (
        "cipher_extract_reasoning_steps",
        "cipher_evaluate_reasoning",
        "cipher_store_reasoning_memory",
        "cipher_search_reasoning_patterns",
    )
)
GRAPH_TOOLS = frozenset(
    f"cipher_{name}"
    for name in (
        "add_node",
        "add_edge",
        "update_node",
        "delete_node",
        "get_neighbors",
        "search_graph",
        "query_graph",
        "enhanced_search",
        "extract_entities",
        "intelligent_processor",
        "relationship_manager",
    )
)


def is_listed(name: str, settings: MemorySettings) -> bool:
    if settings.only_contact:
        return name == CONTACT_TOOL
    if name == ASK_TOOL:
        default = settings.server_mode == "default"
        return default if settings.use_ask_cipher is None else settings.use_ask_cipher
    if settings.server_mode == "default" or name == CONTACT_TOOL:
        return False
    return not is_disabled(name, settings)


def is_disabled(name: str, settings: MemorySettings) -> bool:
    """Whether a setting disables this tool, in every mode and on `/mcp/memory` too."""
    return (
        (name in WORKSPACE_TOOLS and not settings.use_workspace)
        or (name in KNOWLEDGE_TOOLS and settings.disable_default)
        or (name in REASONING_TOOLS and settings.disable_reflection)
        or (name in GRAPH_TOOLS and not settings.knowledge_graph)
    )


def require_enabled(name: str, settings: MemorySettings) -> None:
    """Refuse a tool that the session has disabled, though the server has it."""
    if is_disabled(name, settings):
        raise ToolNotFound(
            f"Tool '{name}' not found", tool=name, hint="Disabled by the settings of this session."
        )


def tool_not_listed(name: str, settings: MemorySettings) -> ToolNotFound:
    """The error with the reference's wording, and a hint."""
    if name == ASK_TOOL and settings.server_mode == "aggregator" and not settings.only_contact:
        message = "ask_cipher tool is disabled in this aggregator configuration"
        return ToolNotFound(message, tool=name, hint="Set USE_ASK_CIPHER=true.")
    hint = _enabling_setting(name, settings)
    return ToolNotFound(f"Tool '{name}' not found", tool=name, **({"hint": hint} if hint else {}))


def _enabling_setting(name: str, settings: MemorySettings) -> str:
    """The variable that would list the tool, guessed from its name."""
    if settings.only_contact:
        return f"MCP_ONLY_CONTACT_CT_KNOWLEDGE_MANAGEMENT is true: {CONTACT_TOOL} is the only tool."
    if name == ASK_TOOL:
        return "USE_ASK_CIPHER is false: set it to true, or leave it unset."
    if settings.server_mode == "default":
        return "Set MCP_SERVER_MODE=aggregator to expose the memory tools."
    if name in WORKSPACE_TOOLS:
        return "Set USE_WORKSPACE_MEMORY=true."
    if name in GRAPH_TOOLS:
        return "Set KNOWLEDGE_GRAPH_ENABLED=true."
    return "Disabled by the settings of this session." if is_disabled(name, settings) else ""
