"""The names that the references gave to settings of features still work."""

from pathlib import Path

import pytest

from pecia.features.hub.settings import HubSettings
from pecia.features.memory.settings import MemorySettings
from pecia.features.wiki.settings import WikiSettings
from pecia.kernel.errors import InvalidInput
from pecia.kernel.settings.load import Settings, load_settings


def read(project_file: Path | None = None, **environ: str) -> Settings:
    parts = (HubSettings, MemorySettings, WikiSettings)
    return load_settings(
        parts, flags={}, environ=environ, project_file=project_file, user_file=None
    )


def test_the_aggregator_s_timeout_is_in_milliseconds() -> None:
    assert read(AGGREGATOR_TIMEOUT="60000").part(HubSettings).timeout_s == 60
    assert read(AGGREGATOR_TIMEOUT="300000").part(HubSettings).timeout_s == 300
    assert read(PECIA_HUB_TIMEOUT_S="60").part(HubSettings).timeout_s == 60


@pytest.mark.parametrize("way", ["prefix", "first-wins", "error"])
def test_the_three_ways_out_of_a_conflict_of_names(way: str) -> None:
    assert read(AGGREGATOR_CONFLICT_RESOLUTION=way).part(HubSettings).on_conflict == way


def test_a_fourth_way_is_refused() -> None:
    with pytest.raises(InvalidInput, match="expected 'prefix', 'first-wins' or 'error'"):
        read(AGGREGATOR_CONFLICT_RESOLUTION="last-wins")


def test_the_server_mode_is_default_unless_aggregator_is_asked_for() -> None:
    assert read().part(MemorySettings).server_mode == "default"
    assert read(MCP_SERVER_MODE="aggregator").part(MemorySettings).server_mode == "aggregator"


def test_an_unknown_server_mode_is_default_with_a_warning() -> None:
    settings = read(MCP_SERVER_MODE="federator")
    assert settings.part(MemorySettings).server_mode == "default"
    assert "got 'federator'" in settings.warnings[0]


def test_use_ask_cipher_said_false_is_not_the_same_as_unsaid() -> None:
    assert read().part(MemorySettings).use_ask_cipher is None
    assert read(USE_ASK_CIPHER="false").part(MemorySettings).use_ask_cipher is False
    assert read(USE_ASK_CIPHER="true").part(MemorySettings).use_ask_cipher is True


def test_only_the_contact_tool() -> None:
    only = read(MCP_ONLY_CONTACT_CT_KNOWLEDGE_MANAGEMENT="true").part(MemorySettings).only_contact
    assert only


def test_autostart_is_turned_off_by_the_variable_or_by_the_project(tmp_path: Path) -> None:
    path = tmp_path / "config.yml"
    path.write_text("mcp:\n  autoStart: false\n", encoding="utf-8")
    assert read().part(WikiSettings).mcp_autostart
    assert not read(OK_MCP_AUTOSTART="0").part(WikiSettings).mcp_autostart
    assert not read(path).part(WikiSettings).mcp_autostart


def test_the_autostart_variable_wins_over_the_file(tmp_path: Path) -> None:
    path = tmp_path / "config.yml"
    path.write_text("mcp: {autoStart: true}\n", encoding="utf-8")
    assert not read(path, OK_MCP_AUTOSTART="0").part(WikiSettings).mcp_autostart


def test_a_space_s_live_configuration_shares_the_file(tmp_path: Path) -> None:
    path = tmp_path / "config.yml"
    path.write_text(
        "content: {dir: docs}\nfolders: [{match: a}]\nmcp: {tools: {search: {maxResults: 9}}}\n"
        "hub: {timeout_s: 7}\n",
        encoding="utf-8",
    )
    assert read(path).part(HubSettings).timeout_s == 7
