"""The settings of the memory room, and the names the references gave them."""

from collections.abc import Iterator
from typing import Annotated, Literal, TypeAlias

from pydantic import Field, SecretStr

from pecia.kernel.settings.model import SettingConflict, SettingsSection, setting

ServerMode: TypeAlias = Literal["default", "aggregator"]
WorkspaceMode: TypeAlias = Literal["isolated", "shared"]
Label = Annotated[str, Field(min_length=1, max_length=100)]
SimilarityScore = Annotated[float, Field(ge=0, le=1)]


class MemorySettings(SettingsSection):
    """What is remembered where, and which of the tools are listed.

    The first three govern the toolset `cipher`; `/mcp/memory` lists the room.
    """

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
    collection: Label = setting(
        "knowledge_memory",
        description="Which memories are searched and added to: those of one name, and no others.",
        env=("VECTOR_STORE_COLLECTION",),
        project=True,
    )
    reflection_collection: Label = setting(
        "reflection_memory",
        description="The same for traces of reasoning.",
        env=("REFLECTION_VECTOR_STORE_COLLECTION",),
        project=True,
    )
    workspace_collection: Label = setting(
        "workspace_memory",
        description="The same for memories of a team.",
        env=("WORKSPACE_VECTOR_STORE_COLLECTION",),
        project=True,
    )
    user_label: Label | None = setting(
        None,
        description="Who memories say they are of. It gives no right: those follow the caller.",
        env=("CIPHER_USER_ID",),
    )
    project_name: Label | None = setting(
        None,
        description="The project that memories are of. Others' are not searched unless asked for.",
        env=("CIPHER_PROJECT_NAME",),
        project=True,
    )
    workspace_mode: WorkspaceMode = setting(
        "isolated",
        description="`isolated`: one's own memories. `shared`: those for all members to read.",
        env=("CIPHER_WORKSPACE_MODE",),
        project=True,
    )
    use_workspace: bool = setting(
        False,
        description="List the tools for memories of a team.",
        env=("USE_WORKSPACE_MEMORY",),
        project=True,
    )
    disable_default: bool = setting(
        False,
        description="Leave memories of a team only.",
        env=("DISABLE_DEFAULT_MEMORY",),
        project=True,
    )
    disable_reflection: bool = setting(
        False,
        description="Leave out the tools for reasoning.",
        env=("DISABLE_REFLECTION_MEMORY",),
        project=True,
    )
    disable_significance: bool = setting(
        False,
        description="Keep whatever ask_cipher is told, be it a greeting.",
        env=("DISABLE_SIGNIFICANCE_FILTER",),
        project=True,
    )
    refine_queries: bool = setting(
        False,
        description="Have a model put a query in several ways, where one is at hand.",
        env=("ENABLE_QUERY_REFINEMENT",),
        project=True,
    )
    workspace_threshold: SimilarityScore = setting(
        0.4,
        description="How like the query a memory of a team must be, where a call does not say.",
        env=("WORKSPACE_SEARCH_THRESHOLD",),
        project=True,
    )
    knowledge_graph: bool = setting(
        False,
        description="List the tools of the knowledge graph.",
        env=("KNOWLEDGE_GRAPH_ENABLED",),
        project=True,
    )
    vector_store_type: str = setting(
        "",
        description="Taken and not used: memories are kept in PostgreSQL, whatever it names.",
        env=("VECTOR_STORE_TYPE",),
    )
    vector_store_url: str = setting(
        "",
        description="The same for its address.",
        env=("VECTOR_STORE_URL",),
    )
    vector_store_key: SecretStr | None = setting(
        None,
        description="The same for its key.",
        env=("VECTOR_STORE_API_KEY",),
        secret=True,
    )

    def clashes(self) -> Iterator[SettingConflict]:
        if self.use_workspace and self.workspace_collection == self.collection:
            yield SettingConflict("workspace_collection", "another name than memory.collection")
        if self.disable_default and not self.use_workspace:
            yield SettingConflict("disable_default", "not set without memory.use_workspace")

    def remarks(self) -> Iterator[str]:
        given = {
            "VECTOR_STORE_TYPE": self.vector_store_type,
            "VECTOR_STORE_URL": self.vector_store_url,
            "VECTOR_STORE_API_KEY": self.vector_store_key,
        }
        if names := ", ".join(name for name, value in given.items() if value):
            yield f"{names}: taken and not used, memories are kept in PostgreSQL"
