"""Cipher's environment variables: which are session settings, and which are accepted but not used.
Pure: it returns warnings, and prints nothing."""

import re
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from pydantic import SecretStr

from pecia.features.ckf.settings import CkfSettings
from pecia.features.hub.settings import HubSettings
from pecia.features.memory.settings import MemorySettings
from pecia.interfaces.cli.settings import TOKEN_VARIABLE
from pecia.kernel.errors import Json
from pecia.kernel.settings.catalog import SettingsCatalog, build_catalog
from pecia.kernel.settings.kernel import KernelSettings
from pecia.kernel.settings.layers.origin import SettingLayer

if TYPE_CHECKING:
    from pecia.kernel.settings.load import Settings

# Session settings. All other variables are the server's, which may serve other sessions too.
_HUB = ("timeout_s", "on_conflict", "prefix_always")
_MODEL = ("provider", "url", "key", "model")
_KEYS = ("openai", "anthropic", "gemini", "deepseek", "openrouter")
SESSION_SETTINGS = frozenset(
    (
        *(f"memory.{it}" for it in MemorySettings.model_fields),
        *(f"hub.{it}" for it in _HUB),
        *(f"ckf.operator_{it}" for it in _MODEL),
        *(f"ckf.{it}_key" for it in _KEYS),
    )
)
# Settings of this process only: transport and address.
PROCESS_SETTINGS = frozenset(("log_level", "log_file", "port"))
UNUSED_SETTINGS = frozenset(f"memory.vector_store_{it}" for it in ("type", "url", "key"))

_EXPLICIT_LAYERS = frozenset((SettingLayer.FLAG, SettingLayer.ENVIRONMENT, SettingLayer.PROJECT))

# By pattern: variables of Cipher that are not used here, and what replaces them.
REPLACEMENTS = (
    (
        r"(WORKSPACE_)?VECTOR_STORE_\w+|(WORKSPACE_)?PINECONE_\w+|PGVECTOR_\w+|FAISS_\w+|"
        r"WORKSPACE_REDIS_\w+|TURSO_\w+",
        "memories are kept in PostgreSQL",
    ),
    (
        r"STORAGE_DATABASE_\w+|CIPHER_PG_URL",
        "everything is kept in one PostgreSQL; PECIA_DATABASE_URL names another",
    ),
    (r"STORAGE_CACHE_\w+", "no cache needs to be configured"),
    (
        r"EMBEDDING_\w+|DISABLE_EMBEDDINGS|DISABLE_EMBEDDING_TOOLS|VOYAGE_API_KEY",
        "the server embeds, with a model of its own; PECIA_EMBED_* settings choose another",
    ),
    (
        r"(QWEN|MISTRAL)_API_KEY|(OLLAMA|LMSTUDIO|GEMINI)_BASE_URL|AZURE_OPENAI_\w+|OPENAI_ORG_ID",
        "PECIA_CKF_OPERATOR_URL names any server that speaks OpenAI's chat completions",
    ),
    (r"KNOWLEDGE_GRAPH_(?!ENABLED$)\w+", "the graph is kept in PostgreSQL"),
    (r"WEB_SEARCH_\w+", "there is no web search here"),
    (r"EVENT_PERSISTENCE_\w+", "the audit log records every call: pecia audit"),
    (r"SEARCH_MEMORY_TYPE", "each kind of memory has a tool of its own"),
    (
        r"MCP_GLOBAL_TIMEOUT|MCP_TOOL_TIMEOUT|CIPHER_MCP_TIMEOUT",
        "AGGREGATOR_TIMEOUT or --timeout limits how long a call may take",
    ),
    (r"CIPHER_API_PREFIX", "the server decides the paths"),
    (r"REDACT_SECRETS", "secrets are never shown"),
    (
        r"ENABLE_LAZY_LOADING|LAZY_\w+|SKIP_HEAVY_SERVICES|DISABLE_BACKGROUND_PRELOAD|"
        r"BACKGROUND_PRELOAD_DELAY",
        "everything is loaded lazily",
    ),
    (r"INFISICAL_\w+", "use pecia secret for secrets"),
)
_REPLACEMENTS = tuple((re.compile(pattern), replacement) for pattern, replacement in REPLACEMENTS)


def collect_session_settings(settings: "Settings") -> dict[str, Json]:
    """The session settings from flags, variables and the project, by our names."""
    known = _settings_catalog()
    return {
        name: _to_json(getattr(settings.part(known.by_name[name].part), known.by_name[name].field))
        for name in sorted(SESSION_SETTINGS - UNUSED_SETTINGS)
        if settings.provenance[name].layer in _EXPLICIT_LAYERS
    }


def server_environment(environ: Mapping[str, str]) -> dict[str, str]:
    """The environment for a server that is started for this session, and will serve others.

    Our own variables stay: they are the server's, however it is started.
    """
    known = _settings_catalog()
    theirs = {
        it for name in SESSION_SETTINGS | PROCESS_SETTINGS for it in known.by_name[name].env[1:]
    }
    return {name: it for name, it in environ.items() if name not in theirs | {TOKEN_VARIABLE}}


def unused_variable_warnings(environ: Mapping[str, str]) -> Iterator[str]:
    """One warning per kind of variable that is accepted but not used."""
    known = _settings_catalog().variables
    for pattern, replacement in _REPLACEMENTS:
        names = sorted(it for it in environ if pattern.fullmatch(it) and it not in known)
        if names:
            yield f"{', '.join(names)}: not used here, {replacement}"


def _settings_catalog() -> SettingsCatalog:
    return build_catalog([KernelSettings, CkfSettings, HubSettings, MemorySettings])


def _to_json(value: object) -> Json:
    if isinstance(value, SecretStr):
        return value.get_secret_value()
    assert value is None or isinstance(value, str | int | float | bool)
    return value
