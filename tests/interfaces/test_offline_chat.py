"""The guide's chat, with a model on this machine and no network at all."""

import json
import subprocess
import sys
from html import escape

import pytest

from tests.features.lake.test_air_gapped import NO_NETWORK
from tests.interfaces.shell import opened_shell

# A server, a chat and a page are started, each in a process of its own.
pytestmark = [pytest.mark.slow, pytest.mark.timeout(180)]


@pytest.mark.skipif(not NO_NETWORK, reason="this machine makes no network namespaces")
@pytest.mark.requirement("lake.clients.air_gapped_demo")
def test_a_model_of_ones_own_answers_from_the_documents_without_a_network() -> None:
    with opened_shell() as shell:
        program = [sys.executable, "-m", "tests.interfaces.offline_chat", str(shell.root)]
        done = subprocess.run([*NO_NETWORK, *program], capture_output=True, text=True, timeout=170)
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert told["interfaces"] == ["lo"]
    answer = "€500 <see pecia://file/handbook/products/price-list-2026.md>"
    assert told["said"]["terminal"] == f"{answer}\n"
    assert escape(answer) in told["said"]["page"]
    for prompt, hits in (told["shown"][:2], told["shown"][2:]):
        assert "Try at least three wordings" in prompt["content"]
        assert "products/price-list-2026.md" in hits["content"]
