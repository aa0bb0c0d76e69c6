"""The references' environment names and files, as `pecia config` shows them."""

import json
import os
import subprocess
from pathlib import Path
from typing import Any, TypeAlias

import pytest

from tests.contract.requirement import requirement
from tests.warm.start import pecia

Shown: TypeAlias = dict[str, dict[str, Any]]


class Shell:
    """A shell in a project folder, with nothing of this machine's configuration in it."""

    def __init__(self, folder: Path) -> None:
        self.project = folder / "project"
        self.user_file = folder / "config" / "pecia" / "config.yml"
        (self.project / ".pecia").mkdir(parents=True)
        self.user_file.parent.mkdir(parents=True)
        self._environ = {
            "PATH": os.environ["PATH"],
            "HOME": str(folder),
            "XDG_CONFIG_HOME": str(folder / "config"),
            "PECIA_HOME": str(folder / "home"),
        }

    def config(self, **environ: str) -> Shown:
        """Every setting that `pecia config --json` shows, by name."""
        done = self.run("config", "--json", **environ)
        assert done.returncode == 0, done.stderr
        return {row["name"]: row for row in json.loads(done.stdout)["settings"]}

    def run(self, *words: str, **environ: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            pecia(*words),
            cwd=self.project,
            env={**self._environ, **environ},
            capture_output=True,
            text=True,
            timeout=50,
            check=False,
        )


@pytest.fixture
def shell(tmp_path: Path) -> Shell:
    return Shell(tmp_path)


@requirement(
    "wiki.autostart.on_by_default",
    "hub.env.conflict_default",
    "hub.env.timeout_default",
)
def test_with_nothing_set_the_defaults_are_shown_as_defaults(shell: Shell) -> None:
    shown = shell.config()
    for name, value in (
        ("wiki.mcp_autostart", True),
        ("hub.on_conflict", "prefix"),
        ("hub.timeout_s", 60.0),
    ):
        assert shown[name]["value"] == value
        assert shown[name]["origin"]["layer"] == "default"


@requirement(
    "wiki.autostart.env_zero_is_off",
    "hub.env.timeout_milliseconds",
    "hub.env.conflict_resolution",
    "memory.env.server_mode",
    "memory.env.only_contact",
    "memory.env.use_ask_cipher",
    "memory.debug.log_level_variable",
    "memory.trouble.variables_checked",
)
def test_a_variable_of_a_reference_is_taken_in_our_units_and_named(shell: Shell) -> None:
    given = {
        "OK_MCP_AUTOSTART": ("0", "wiki.mcp_autostart", False),
        "AGGREGATOR_TIMEOUT": ("300000", "hub.timeout_s", 300.0),
        "AGGREGATOR_CONFLICT_RESOLUTION": ("first-wins", "hub.on_conflict", "first-wins"),
        "MCP_SERVER_MODE": ("aggregator", "memory.server_mode", "aggregator"),
        "MCP_ONLY_CONTACT_CT_KNOWLEDGE_MANAGEMENT": ("true", "memory.only_contact", True),
        "USE_ASK_CIPHER": ("false", "memory.use_ask_cipher", False),
        "MCP_LOG_LEVEL": ("debug", "log_level", "debug"),
    }
    before = shell.config()
    assert before["memory.server_mode"]["value"] == "default"
    assert before["memory.only_contact"]["value"] is False
    # Unset is a value of its own: see the requirement.
    assert before["memory.use_ask_cipher"]["value"] is None
    shown = shell.config(**{name: text for name, (text, _, _) in given.items()})
    for variable, (_, name, value) in given.items():
        assert shown[name]["value"] == value, variable
        assert shown[name]["origin"]["where"] == variable


@requirement("hub.env.conflict_resolution")
def test_another_way_to_resolve_conflicts_is_refused_and_the_ways_are_named(shell: Shell) -> None:
    done = shell.run("config", AGGREGATOR_CONFLICT_RESOLUTION="last-wins")
    assert done.returncode != 0
    for word in ("AGGREGATOR_CONFLICT_RESOLUTION", "prefix", "first-wins", "error", "last-wins"):
        assert word in done.stderr


@requirement("wiki.autostart.config_is_off")
def test_the_project_file_turns_auto_start_off(shell: Shell) -> None:
    project_file = shell.project / ".pecia" / "config.yml"
    project_file.write_text("mcp:\n  autoStart: false\n")
    row = shell.config()["wiki.mcp_autostart"]
    assert row["value"] is False
    assert row["origin"]["layer"] == "project file"


@requirement("wiki.autostart.env_beats_config")
def test_a_variable_beats_the_project_file(shell: Shell) -> None:
    (shell.project / ".pecia" / "config.yml").write_text("mcp:\n  autoStart: true\n")
    row = shell.config(OK_MCP_AUTOSTART="0")["wiki.mcp_autostart"]
    assert (row["value"], row["origin"]["where"]) == (False, "OK_MCP_AUTOSTART")


@requirement("wiki.config.precedence")
def test_the_project_file_beats_the_user_file_beats_the_default(shell: Shell) -> None:
    shell.user_file.write_text("hub:\n  timeout_s: 20\n  on_conflict: error\n")
    (shell.project / ".pecia" / "config.yml").write_text("hub:\n  timeout_s: 10\n")
    shown = shell.config()
    assert shown["hub.timeout_s"]["value"] == 10
    assert shown["hub.timeout_s"]["origin"]["layer"] == "project file"
    assert shown["hub.on_conflict"]["value"] == "error"
    assert shown["hub.on_conflict"]["origin"]["layer"] == "user file"
    assert shown["wiki.mcp_autostart"]["origin"]["layer"] == "default"


@requirement("memory.env.no_dotenv")
def test_a_dotenv_file_changes_nothing(shell: Shell) -> None:
    before = shell.config()
    (shell.project / ".env").write_text("AGGREGATOR_TIMEOUT=1000\nPECIA_PORT=1\n")
    assert shell.config() == before


@requirement("memory.debug.debug_variable")
def test_debug_means_us_only_when_it_names_us(shell: Shell) -> None:
    assert shell.config(DEBUG="cipher:*")["log_level"]["value"] == "debug"
    assert shell.config(DEBUG="express:*")["log_level"]["value"] == "info"
