"""With no network at all, no embedder and no GPU, the whole lake answers."""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from pecia.kernel.store.cluster import DatabaseLogins

# Root needs no namespace of users, in which it would lose its way to the database.
WAYS = (("unshare", "--net"), ("unshare", "--map-current-user", "--net"))


def without_network() -> tuple[str, ...]:
    """How to run a program without a network; nothing where this machine cannot."""
    for way in WAYS if shutil.which("unshare") else ():
        if subprocess.run([*way, "true"], capture_output=True).returncode == 0:
            return way
    return ()


NO_NETWORK = without_network()


@pytest.mark.skipif(not NO_NETWORK, reason="this machine makes no network namespaces")
@pytest.mark.requirement("lake.auth.air_gapped", "lake.lexical.air_gapped")
def test_every_tool_answers_a_token_on_a_machine_without_a_network(
    database: DatabaseLogins, tmp_path: Path
) -> None:
    words = [tmp_path / "home", database.app, database.owner, database.system]
    program = [sys.executable, "-m", "tests.features.lake.air_gapped", *map(str, words)]
    done = subprocess.run([*NO_NETWORK, *program], capture_output=True, text=True, timeout=50)
    assert done.returncode == 0, done.stderr
    said = json.loads(done.stdout.splitlines()[-1])
    assert not said["has_network"]
    answers = said["answers"]
    assert len(answers) == 6
    assert [it["key"] for it in answers["search_content"]["hits"]] == ["a.md"]
    assert answers["get_file_window"]["text"] == "A derailleur moves the chain.\n"
    assert [it["key"] for it in answers["list_files"]["files"]] == ["a.md"]
