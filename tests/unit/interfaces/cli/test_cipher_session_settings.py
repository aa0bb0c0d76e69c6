"""What a client of Cipher sets: what goes with the session, and what is told and not used."""

from collections.abc import Mapping
from typing import Any

import pytest

from pecia.app.app import SETTINGS
from pecia.interfaces.cli.cipher.environment import (
    collect_session_settings,
    server_environment,
    unused_variable_warnings,
)
from pecia.interfaces.cli.cipher.flags import parse_env_file
from pecia.kernel.errors import InvalidFormat
from pecia.kernel.settings.load import Settings, load_settings


def settings(environ: Mapping[str, str], **flags: Any) -> Settings:
    named = {name.replace("__", "."): value for name, value in flags.items()}
    return load_settings(SETTINGS, flags=named, environ=environ, project_file=None, user_file=None)


def test_a_session_brings_what_was_said_and_nothing_that_is_a_default() -> None:
    assert collect_session_settings(settings({})) == {}
    given = {
        "MCP_SERVER_MODE": "aggregator",
        "USE_ASK_CIPHER": "true",
        "AGGREGATOR_TIMEOUT": "300000",
        "OPENAI_API_KEY": "sk-0123456789",
        "PECIA_PORT": "7777",
        "MCP_LOG_LEVEL": "debug",
    }
    assert collect_session_settings(settings(given)) == {
        "memory.server_mode": "aggregator",
        "memory.use_ask_cipher": True,
        "hub.timeout_s": 300.0,
        "ckf.openai_key": "sk-0123456789",
    }


def test_a_flag_wins_over_its_variable() -> None:
    given = settings({"AGGREGATOR_TIMEOUT": "1000"}, hub__timeout_s=300.0)
    assert collect_session_settings(given) == {"hub.timeout_s": 300.0}


@pytest.mark.requirement("memory.env.vector_store_api_key")
def test_a_key_that_nothing_uses_does_not_travel() -> None:
    given = {"VECTOR_STORE_TYPE": "qdrant", "VECTOR_STORE_API_KEY": "0123456789"}
    assert collect_session_settings(settings(given)) == {}
    [told] = settings(given).warnings
    assert told == (
        "VECTOR_STORE_TYPE, VECTOR_STORE_API_KEY: accepted and ignored, "
        "memories are stored in PostgreSQL"
    )


def test_a_server_that_a_session_starts_gets_none_of_its_settings() -> None:
    around = {"PATH": "/bin", "PECIA_HOME": "/x", "PECIA_MEMORY_USE_WORKSPACE": "true"}
    mine = {
        "MCP_SERVER_MODE": "aggregator",
        "OPENAI_API_KEY": "sk-0123456789",
        "VECTOR_STORE_COLLECTION": "front",
        "AGGREGATOR_TIMEOUT": "1",
        "MCP_PORT": "4000",
        "DEBUG": "cipher:*",
        "PECIA_TOKEN": "of-this-session",
    }
    assert server_environment({**around, **mine}) == around


@pytest.mark.parametrize(
    ("name", "instead"),
    [
        ("VECTOR_STORE_HOST", "PostgreSQL"),
        ("WORKSPACE_VECTOR_STORE_TYPE", "PostgreSQL"),
        ("PINECONE_NAMESPACE", "PostgreSQL"),
        ("STORAGE_DATABASE_TYPE", "PECIA_DATABASE_URL"),
        ("CIPHER_PG_URL", "PECIA_DATABASE_URL"),
        ("STORAGE_CACHE_TYPE", "no cache"),
        ("EMBEDDING_MODEL", "PECIA_EMBED_"),
        ("DISABLE_EMBEDDINGS", "PECIA_EMBED_"),
        ("OLLAMA_BASE_URL", "PECIA_CKF_OPERATOR_URL"),
        ("KNOWLEDGE_GRAPH_URI", "PostgreSQL"),
        ("WEB_SEARCH_ENABLE", "no web search"),
        ("EVENT_PERSISTENCE_ENABLED", "audit"),
        ("SEARCH_MEMORY_TYPE", "tool of its own"),
        ("MCP_GLOBAL_TIMEOUT", "AGGREGATOR_TIMEOUT"),
        ("LAZY_EMBEDDING", "loaded lazily"),
        ("REDACT_SECRETS", "never shown"),
    ],
)
def test_a_variable_that_nothing_here_needs_is_named_with_what_is_there_instead(
    name: str, instead: str
) -> None:
    [told] = unused_variable_warnings({name: "x", "PATH": "/bin"})
    assert told.startswith(f"{name}: not used here, ")
    assert instead in told


def test_a_variable_that_is_honoured_is_not_told_of() -> None:
    used = ("VECTOR_STORE_COLLECTION", "WORKSPACE_VECTOR_STORE_COLLECTION", "AGGREGATOR_TIMEOUT")
    more = ("KNOWLEDGE_GRAPH_ENABLED", "REFLECTION_VECTOR_STORE_COLLECTION", "VECTOR_STORE_TYPE")
    assert [*unused_variable_warnings(dict.fromkeys((*used, *more), "x"))] == []


def test_variables_of_a_file_are_read_as_shells_do_and_nothing_is_expanded() -> None:
    text = "# c\n\nexport A=1\nB = \"two words\"\nC='$A'\nD=x=y\nE=\n"
    assert parse_env_file(text) == {"A": "1", "B": "two words", "C": "$A", "D": "x=y", "E": ""}
    with pytest.raises(InvalidFormat, match="line 2"):
        parse_env_file("A=1\nwhat is this\n")
