"""A keyword index that is damaged on disk is derived data: it is seen, said and made again."""

import json
import shutil
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from pecia.kernel.store.cluster import DatabaseLogins
from tests.interfaces.shell import Shell, opened_shell
from tests.interfaces.test_cli_commands import external
from tests.interfaces.test_cli_stalled import findings, frozen, until

pytestmark = [pytest.mark.slow, pytest.mark.timeout(240)]

SEARCH = ("call", "lake.search_content", "--query", "heron", "--json")
NULS = b"\0" * 32


@pytest.fixture
def shell(database: DatabaseLogins) -> Iterator[Shell]:
    with opened_shell(external(database)) as opened:
        notes = opened.folder("notes")
        (notes / "a.md").write_text("# Heron\n")
        opened.ok("start", notes, "--detach", "--port", 0)
        until(lambda: opened.ok(*SEARCH).document["hits"])
        yield opened


def readiness(shell: Shell) -> dict[str, Any]:
    with urllib.request.urlopen(f"{shell.lock.url}/readyz") as answer:
        return json.load(answer)["checks"]["index"]


def tear(shell: Shell) -> Path:
    [meta] = shell.home.glob("index/*/v*/meta.json")
    meta.write_bytes(b"garbage")
    return meta


def test_a_damaged_index_is_said_while_nobody_rebuilds_it_and_then_rebuilt(shell: Shell) -> None:
    with frozen(shell):
        meta = tear(shell)
        answer = shell.ok(*SEARCH).document
        assert any("keyword index" in it for it in answer["degraded"])
        said = until(lambda: (it := readiness(shell))["ok"] is False and it)
        assert "rebuilt" in said["found"]
        [found] = findings(shell, "index")
        assert (found["state"], "damaged" in found["found"]) == ("warn", True)
    assert until(lambda: shell.ok(*SEARCH).document["hits"])
    assert not meta.exists()
    assert until(lambda: readiness(shell)["ok"])
    assert [it["state"] for it in findings(shell, "index")] == ["ok"]


def test_a_repair_names_what_it_mended_also_the_name_of_the_node(shell: Shell) -> None:
    shell.ok("stop")
    tear(shell)
    node = shell.home / "index" / "node"
    node.write_bytes(NULS)
    [found] = findings(shell, "index")
    assert (found["state"], found["advice"]) == ("warn", "pecia index repair")
    node.write_bytes(NULS)
    done = shell.ok("index", "repair", "--json").document
    assert done["node"] == "mended"
    assert [(it["torn"], it["mended"]) for it in done["indexes"]] == [(["meta.json"], True)]
    assert len(node.read_text()) == 32
    again = shell.ok("index", "repair", "--json").document
    assert again["node"] == "intact"
    assert [it["mended"] for it in again["indexes"]] == [False]
    shutil.rmtree(shell.home / "index")
    shown = shell.ok("index", "repair").out
    assert "\tthere is no index\t" in shown


def test_a_server_replaces_a_damaged_name_of_its_node(shell: Shell) -> None:
    notes = shell.folder("notes")
    shell.ok("stop")
    (shell.home / "index" / "node").write_bytes(NULS)
    (notes / "b.md").write_text("# Another heron\n")
    shell.ok("start", notes, "--detach", "--port", 0)
    assert until(lambda: len(shell.ok(*SEARCH).document["hits"]) == 2)
