"""The guide for clients of Cipher: what it tells to type is what there is."""

import json
import re
import subprocess
import sys
from importlib.metadata import distribution
from pathlib import Path
from typing import Any, cast

import pytest
from typer.main import get_command

from pecia.app.app import SETTINGS
from pecia.interfaces.cli.help_text import list_commands
from pecia.interfaces.cli.typer_app import build_app
from pecia.kernel.settings.catalog import build_catalog
from pecia.kernel.settings.kernel import KernelSettings

DOCS = Path(__file__).parents[2] / "docs"
GUIDE = (DOCS / "cipher.md").read_text(encoding="utf-8")
PAGES = ("cipher.md", "examples.md")
BLOCK = re.compile(r"```json\n(.*?)```", re.DOTALL)
CIPHER = "pecia.interfaces.cli.cipher.cipher"
LINK = re.compile(r"\]\(([\w./-]+)(#[\w-]+)?\)")
FLAG = re.compile(r"`(--?[a-z-]+)")


def programs() -> list[dict[str, Any]]:
    """Every entry of a client's configuration that starts a program."""
    found = [json.loads(it) for page in PAGES for it in BLOCK.findall(_text(page))]
    entries = [it for one in found for it in one["mcpServers"].values()]
    return [it for it in entries if "command" in it]


@pytest.mark.requirement("memory.trouble.install_command")
def test_what_the_guide_installs_has_the_command_that_its_blocks_start() -> None:
    [name] = re.findall(r"`pip install ([\w-]+)`", GUIDE)
    scripts = {it.name for it in distribution(name).entry_points if it.group == "console_scripts"}
    assert {it["command"] for it in programs()} <= scripts
    program = Path(sys.executable).parent / "pecia"
    done = subprocess.run([program, "version"], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == distribution(name).version


@pytest.mark.requirement("memory.trouble.command_path")
def test_the_guide_says_how_to_find_the_path_that_a_client_needs() -> None:
    [row] = [it for it in GUIDE.splitlines() if "Failed to connect" in it]
    assert "`command -v pecia`" in row
    assert "`PATH`" in row


@pytest.mark.requirement("memory.docs.related_pages")
def test_the_guide_leads_to_commands_settings_examples_and_workspace_memory() -> None:
    wanted = {"commands.md", "reference/settings.md", "examples.md", "memory.md#a-team"}
    assert wanted <= {page + anchor for page, anchor in LINK.findall(GUIDE)}
    assert "\n## A team\n" in _text("memory.md")
    for page in (*PAGES, "commands.md"):
        for target, _ in LINK.findall(_text(page)):
            assert (DOCS / target).is_file(), (page, target)


@pytest.mark.requirement("memory.docs.related_pages")
def test_the_page_of_commands_names_every_one() -> None:
    every = list_commands()
    told = set(re.findall(r"^\| `pecia ([a-z]+)`", _text("commands.md"), re.MULTILINE))
    assert told == set(every)
    for name in every:
        [row] = re.findall(rf"^\| `pecia {name}`.*$", _text("commands.md"), re.MULTILINE)
        assert all(f"`{it}`" in row for it in list_commands(name)), name


def test_every_flag_and_variable_that_the_guide_names_is_taken() -> None:
    options = cast(Any, get_command(build_app([CIPHER]))).commands["cipher"].params
    flags = {flag for it in options for flag in (*it.opts, *it.secondary_opts)}
    rows = [it for it in GUIDE.splitlines() if it.startswith("| `-")]
    told = {flag for row in rows for flag in FLAG.findall(row.split("|")[1])}
    assert told <= flags
    assert len(told) > 8
    known = build_catalog([KernelSettings, *SETTINGS]).variables
    for entry in programs():
        assert entry["args"][0] == "cipher"
        assert {it for it in entry["args"] if it.startswith("-")} <= flags
        assert entry.get("env", {}).keys() <= known


def _text(page: str) -> str:
    return (DOCS / page).read_text(encoding="utf-8")
