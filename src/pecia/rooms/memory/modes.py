"""Which tools the toolset `cipher` lists, by its settings. Pure: a door makes a view of it."""

from pecia.kernel.errors import ToolNotFound
from pecia.rooms.memory.settings import MemorySettings

ASK = "ask_cipher"
CONTACT = "contact_ct_knowledge_management"
OF_WORKSPACE = frozenset(("cipher_workspace_search", "cipher_workspace_store"))
OF_KNOWLEDGE = frozenset(("cipher_memory_search", "cipher_extract_and_operate_memory"))
OF_REASONING = frozenset(
    (
        "cipher_extract_reasoning_steps",
        "cipher_evaluate_reasoning",
        "cipher_store_reasoning_memory",
        "cipher_search_reasoning_patterns",
    )
)
OF_GRAPH = frozenset(
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
        return name == CONTACT
    if name == ASK:
        default = settings.server_mode == "default"
        return default if settings.use_ask_cipher is None else settings.use_ask_cipher
    if settings.server_mode == "default" or name == CONTACT:
        return False
    return not is_switched_off(name, settings)


def is_switched_off(name: str, settings: MemorySettings) -> bool:
    """Whether a setting leaves this tool out, in every mode and on the room's own endpoint."""
    return (
        (name in OF_WORKSPACE and not settings.use_workspace)
        or (name in OF_KNOWLEDGE and settings.disable_default)
        or (name in OF_REASONING and settings.disable_reflection)
        or (name in OF_GRAPH and not settings.knowledge_graph)
    )


def require_on(name: str, settings: MemorySettings) -> None:
    """Refuse a tool that the session has switched off, though the server has it."""
    if is_switched_off(name, settings):
        raise ToolNotFound(
            f"Tool '{name}' not found", tool=name, hint="This session has switched it off."
        )


def not_listed(name: str, settings: MemorySettings) -> ToolNotFound:
    """The refusal in the words of the reference, with what to do about it."""
    if name == ASK and settings.server_mode == "aggregator" and not settings.only_contact:
        message = "ask_cipher tool is disabled in this aggregator configuration"
        return ToolNotFound(message, tool=name, hint="Set USE_ASK_CIPHER=true.")
    hint = _way_to(name, settings)
    return ToolNotFound(f"Tool '{name}' not found", tool=name, **({"hint": hint} if hint else {}))


def _way_to(name: str, settings: MemorySettings) -> str:
    """Which variable would list it, as far as a name tells."""
    if settings.only_contact:
        return f"MCP_ONLY_CONTACT_CT_KNOWLEDGE_MANAGEMENT is true: {CONTACT} is all there is."
    if name == ASK:
        return "USE_ASK_CIPHER is false: set it to true, or leave it unset."
    if settings.server_mode == "default":
        return "Set MCP_SERVER_MODE=aggregator to expose the memory tools."
    if name in OF_WORKSPACE:
        return "Set USE_WORKSPACE_MEMORY=true."
    if name in OF_GRAPH:
        return "Set KNOWLEDGE_GRAPH_ENABLED=true."
    return "This session has switched it off." if is_switched_off(name, settings) else ""
