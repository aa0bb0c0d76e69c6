"""The settings of the memory feature, and their names in the references."""

from collections.abc import Iterator
from typing import Annotated, Literal, TypeAlias

from pydantic import Field, SecretStr

from pecia.features.memory.core.screen.policy import (
    PersonalDataPolicy,
    ScreenPolicy,
    SecretPolicy,
)
from pecia.kernel.settings.model import SettingConflict, SettingsSection, setting

ServerMode: TypeAlias = Literal["default", "aggregator"]
WorkspaceMode: TypeAlias = Literal["isolated", "shared"]
Label = Annotated[str, Field(min_length=1, max_length=100)]
SimilarityScore = Annotated[float, Field(ge=0, le=1)]


class MemorySettings(SettingsSection):
    """Where memories are stored, and which tools are listed.

    The first three apply to the toolset `cipher`; `/mcp/memory` lists all memory tools.
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
        description="The collection of memories to search and add to.",
        env=("VECTOR_STORE_COLLECTION",),
        project=True,
    )
    reflection_collection: Label = setting(
        "reflection_memory",
        description="The same for reasoning traces.",
        env=("REFLECTION_VECTOR_STORE_COLLECTION",),
        project=True,
    )
    workspace_collection: Label = setting(
        "workspace_memory",
        description="The same for team memories.",
        env=("WORKSPACE_VECTOR_STORE_COLLECTION",),
        project=True,
    )
    user_label: Label | None = setting(
        None,
        description="User label of memories. It grants no rights: those follow the caller.",
        env=("CIPHER_USER_ID",),
    )
    project_name: Label | None = setting(
        None,
        description="Project of memories. Other projects are searched only on request.",
        env=("CIPHER_PROJECT_NAME",),
        project=True,
    )
    workspace_mode: WorkspaceMode = setting(
        "isolated",
        description="`isolated`: the user's own memories. `shared`: those all members can read.",
        env=("CIPHER_WORKSPACE_MODE",),
        project=True,
    )
    use_workspace: bool = setting(
        False,
        description="List the tools for team memories.",
        env=("USE_WORKSPACE_MEMORY",),
        project=True,
    )
    disable_default: bool = setting(
        False,
        description="Use team memories only.",
        env=("DISABLE_DEFAULT_MEMORY",),
        project=True,
    )
    disable_reflection: bool = setting(
        False,
        description="Do not list the reasoning tools.",
        env=("DISABLE_REFLECTION_MEMORY",),
        project=True,
    )
    disable_significance: bool = setting(
        False,
        description="Store every message to ask_cipher, even a greeting.",
        env=("DISABLE_SIGNIFICANCE_FILTER",),
        project=True,
    )
    refine_queries: bool = setting(
        False,
        description="Rewrite queries with a model, if one is configured.",
        env=("ENABLE_QUERY_REFINEMENT",),
        project=True,
    )
    workspace_threshold: SimilarityScore = setting(
        0.4,
        description="Default similarity threshold for team memories.",
        env=("WORKSPACE_SEARCH_THRESHOLD",),
        project=True,
    )
    knowledge_graph: bool = setting(
        False,
        description="List the tools of the knowledge graph.",
        env=("KNOWLEDGE_GRAPH_ENABLED",),
        project=True,
    )
    secrets: SecretPolicy = setting(
        "redact",
        description="Keys, tokens, passwords, PINs and door codes in a text to remember: `mark`"
        " stores them as they are and says so, `redact` replaces them, `refuse` does not store the"
        " text.",
    )
    personal_data: PersonalDataPolicy = setting(
        "keep",
        description="Card, account, insurance and phone numbers, mail and network addresses in a"
        " text to remember: `keep` stores them, `mark` stores them and says which, `redact`"
        " replaces them, `refuse` does not store the text.",
    )
    vector_store_type: str = setting(
        "",
        description="Accepted and ignored: memories are stored in PostgreSQL.",
        env=("VECTOR_STORE_TYPE",),
    )
    vector_store_url: str = setting(
        "",
        description="Accepted and ignored, as memory.vector_store_type.",
        env=("VECTOR_STORE_URL",),
    )
    vector_store_key: SecretStr | None = setting(
        None,
        description="Accepted and ignored, as memory.vector_store_type.",
        env=("VECTOR_STORE_API_KEY",),
        secret=True,
    )

    @property
    def screen_policy(self) -> ScreenPolicy:
        return ScreenPolicy(self.secrets, self.personal_data)

    def clashes(self) -> Iterator[SettingConflict]:
        if self.use_workspace and self.workspace_collection == self.collection:
            yield SettingConflict("workspace_collection", "a different name than memory.collection")
        if self.disable_default and not self.use_workspace:
            yield SettingConflict("disable_default", "not set without memory.use_workspace")

    def remarks(self) -> Iterator[str]:
        ignored = {
            "VECTOR_STORE_TYPE": self.vector_store_type,
            "VECTOR_STORE_URL": self.vector_store_url,
            "VECTOR_STORE_API_KEY": self.vector_store_key,
        }
        if names := ", ".join(name for name, value in ignored.items() if value):
            yield f"{names}: accepted and ignored, memories are stored in PostgreSQL"


REMOTE_FIELDS = frozenset(MemorySettings.model_fields) - {
    "secrets",
    "personal_data",
    "vector_store_type",
    "vector_store_url",
    "vector_store_key",
}
"""Settings that a session may have wherever its client runs: they choose memories and tools, and
give no right."""
