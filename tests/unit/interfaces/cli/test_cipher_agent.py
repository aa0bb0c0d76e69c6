"""An agent file, read: what it gives a session, and what it is refused for."""

from pathlib import Path

import pytest

from pecia.features.hub.core.tool_name import is_agent_server
from pecia.interfaces.cli.cipher.agent import parse_agent, read_agent
from pecia.kernel.errors import InvalidEnum, InvalidFormat, InvalidInput, MissingField, NotFound

FILES = """
mcpServers:
  files:
    type: stdio
    command: npx
    args: ["-y", "server-filesystem", "${ROOT}"]
    env: { TOKEN: $TOKEN, KEPT: "${secret:notes}" }
    timeout: 30000
    connectionMode: strict
  off: { type: sse, url: "https://x.example/sse", enabled: false }
  web:
    type: streamable-http
    url: https://x.example/mcp
    headers: { Authorization: Bearer $TOKEN }
"""
AROUND = {"ROOT": "/srv/my notes", "TOKEN": "t0ken"}


def test_servers_are_asked_for_in_the_words_of_the_hub_with_variables_filled_in() -> None:
    found = parse_agent(FILES, AROUND).servers
    assert found is not None
    files, web = found
    assert (files.alias, files.is_required) == ("files", True)
    assert files.arguments["command"] == "npx -y server-filesystem '/srv/my notes'"
    assert "confirm" not in files.arguments
    assert files.arguments["env"] == {"TOKEN": "t0ken", "KEPT": "${secret:notes}"}
    assert files.arguments["timeout_s"] == 30
    assert (web.alias, web.is_required, web.arguments["url"]) == (
        "web",
        False,
        "https://x.example/mcp",
    )
    assert web.arguments["headers"] == {"Authorization": "Bearer t0ken"}


def test_a_server_is_known_by_all_that_the_file_says_of_it() -> None:
    def name(**around: str) -> str:
        found = parse_agent(FILES, {**AROUND, **around}).servers
        assert found is not None
        return found[0].name

    assert name() == name()
    assert len({name(), name(ROOT="/srv/other"), name(TOKEN="other")}) == 3
    assert is_agent_server(name())
    assert "t0ken" not in name()


def test_without_servers_those_of_the_hub_are_there_and_an_empty_list_is_none() -> None:
    assert parse_agent("llm: {provider: openai}", {}).servers is None
    assert parse_agent("mcpServers: {}", {}).servers == ()


@pytest.mark.parametrize(
    ("llm", "around", "flags"),
    [
        (
            "{provider: anthropic, model: m, apiKey: $ANTHROPIC_API_KEY}",
            {"ANTHROPIC_API_KEY": "k"},
            {
                "ckf.operator_provider": "anthropic",
                "ckf.operator_model": "m",
                "ckf.anthropic_key": "k",
            },
        ),
        (
            "{provider: openai, model: m, apiKey: $OPENAI_API_KEY}",
            {},
            {"ckf.operator_provider": "openai", "ckf.operator_model": "m"},
        ),
        (
            "{provider: openai, model: m, baseURL: 'http://x:1/v1', apiKey: k}",
            {},
            {
                "ckf.operator_url": "http://x:1/v1",
                "ckf.operator_model": "m",
                "ckf.operator_key": "k",
            },
        ),
        (
            "{provider: ollama, model: m}",
            {},
            {"ckf.operator_url": "http://localhost:11434/v1", "ckf.operator_model": "m"},
        ),
    ],
)
def test_a_model_becomes_settings_of_the_session(
    llm: str, around: dict[str, str], flags: dict[str, str]
) -> None:
    assert parse_agent(f"llm: {llm}", around).flags == flags


def test_what_is_not_used_is_named() -> None:
    text = "llm: {provider: openai, maxIterations: 50}\nevalLlm: {}\nsystemPrompt: Hi.\n"
    assert parse_agent(text, {}).unused == ("evalLlm", "systemPrompt", "llm.maxIterations")


@pytest.mark.parametrize(
    ("text", "kind", "field"),
    [
        ("- a", InvalidFormat, "--agent"),
        ("llm: words", InvalidFormat, "llm"),
        ("llm: {provider: mistral, model: m}", InvalidEnum, "llm.provider"),
        ("llm: {provider: mistral, baseURL: 'http://x/v1'}", MissingField, "llm.model"),
        ("mcpServers: words", InvalidFormat, "mcpServers"),
        ("mcpServers: {a: {type: stdio}}", MissingField, "command"),
        ("mcpServers: {a: {command: $NOWHERE}}", InvalidInput, "mcpServers.a.command"),
    ],
)
def test_what_is_wrong_is_named_by_its_place(text: str, kind: type[Exception], field: str) -> None:
    with pytest.raises(kind) as wrong:
        parse_agent(text, {})
    assert wrong.value.fields["field"] == field  # pyright: ignore[reportAttributeAccessIssue, reportUnknownMemberType] - all of them are ours


def test_a_file_that_is_not_there_is_told(tmp_path: Path) -> None:
    with pytest.raises(NotFound, match=r"no file .*nowhere\.yml"):
        read_agent(tmp_path / "nowhere.yml", {})
