"""Session settings in an editor's configuration: which variables, and their headers."""

import json
from base64 import b64encode
from collections.abc import Mapping
from pathlib import Path
from urllib.parse import quote

from pecia.interfaces.cli.server.lock import is_loopback_url
from pecia.interfaces.cli.settings import SPACE_VARIABLE, TOKEN_VARIABLE

SESSION_HEADER = "x-pecia-session"
SPACE_HEADER = "x-pecia-space"
PROJECT_HEADER = "x-pecia-project"

# The references' variables that an editor may set for its session. Everything else, our own names
# among them, is the server's, which serves others too.
FORWARDED_VARIABLES = frozenset(
    (
        "AGGREGATOR_CONFLICT_RESOLUTION",
        "AGGREGATOR_PREFIX_ALWAYS",
        "AGGREGATOR_TIMEOUT",
        "ANTHROPIC_API_KEY",
        "CIPHER_PROJECT_NAME",
        "CIPHER_USER_ID",
        "CIPHER_WORKSPACE_MODE",
        "DEEPSEEK_API_KEY",
        "DISABLE_DEFAULT_MEMORY",
        "DISABLE_REFLECTION_MEMORY",
        "DISABLE_SIGNIFICANCE_FILTER",
        "ENABLE_QUERY_REFINEMENT",
        "GEMINI_API_KEY",
        "GOOGLE_API_KEY",
        "KNOWLEDGE_GRAPH_ENABLED",
        "MCP_ONLY_CONTACT_CT_KNOWLEDGE_MANAGEMENT",
        "MCP_SERVER_MODE",
        "OPENAI_API_KEY",
        "OPENROUTER_API_KEY",
        "REFLECTION_VECTOR_STORE_COLLECTION",
        "USE_ASK_CIPHER",
        "USE_WORKSPACE_MEMORY",
        "VECTOR_STORE_COLLECTION",
        "WORKSPACE_SEARCH_THRESHOLD",
        "WORKSPACE_VECTOR_STORE_COLLECTION",
    )
)


def session_headers(url: str, environ: Mapping[str, str], token: str | None) -> dict[str, str]:
    """The headers of every message: token and session settings.

    Some variables are API keys, which do not leave this machine.
    """
    found = {"authorization": f"Bearer {token}"} if token else {}
    env = {name: value for name, value in environ.items() if name in FORWARDED_VARIABLES}
    if env and is_loopback_url(url):
        found[SESSION_HEADER] = b64encode(json.dumps(env).encode()).decode()
    return found


def space_headers(url: str, name: str | None, folder: Path | None) -> dict[str, str]:
    """The default space of calls. A folder is sent to a server on this machine only."""
    if name is not None:
        return {SPACE_HEADER: quote(name)}
    return (
        {PROJECT_HEADER: quote(str(folder))} if folder is not None and is_loopback_url(url) else {}
    )


def strip_session_variables(environ: Mapping[str, str]) -> dict[str, str]:
    """The environment of a server that this session starts and that others will use too."""
    return {
        name: it
        for name, it in environ.items()
        if name not in FORWARDED_VARIABLES | {TOKEN_VARIABLE, SPACE_VARIABLE}
    }
