"""Which modules a server has imported when it first answers: counted, so that no start grows slow
unnoticed. A real process."""

import json
from collections.abc import Iterator

import pytest

from pecia.interfaces.cli.server.client import ServerClient
from tests.interfaces.shell import Shell, opened_shell

pytestmark = pytest.mark.slow

MAX_MODULES = 1325
"""In all, those of Python included."""
MAX_OF_OURS = 555

# What a server is without until somebody needs it.
DEFERRED = (
    *("httpx2", "joserfc", "jsonschema", "kreuzberg", "markdown_it", "mcp", "numpy"),
    *("onnxruntime", "psutil", "pydantic_ai", "pygit2"),
    *("pecia.adapters.extraction", "pecia.adapters.git", "pecia.adapters.models"),
    *("pecia.adapters.upstream", "pecia.features.ckf.heuristic", "pecia.features.ckf.pages"),
    *("pecia.features.ckf.tools", "pecia.features.cascade.tools", "pecia.features.hub.tools"),
    *("pecia.features.memory.graph", "pecia.features.memory.tools", "pecia.features.wiki.shell"),
    *("pecia.features.wiki.tools", "pecia.features.wiki.transfer"),
)

REPORT = """
import json
import sys
from pecia.interfaces.cli.main import run
code = run(sys.argv[1:])
print(json.dumps(sorted(sys.modules)))
sys.exit(code)
"""


@pytest.fixture(scope="module")
def shell() -> Iterator[Shell]:
    # The endpoints of MCP are imported some time after the start.
    with opened_shell({"PECIA_MCP_ENABLED": "false"}) as made:
        yield made


@pytest.fixture(scope="module")
def modules(shell: Shell) -> set[str]:
    """Of a server that was started, answered one call over HTTP and was stopped."""
    words = ["start", str(shell.folder("notes")), "--port", "0", "--no-ask"]
    with shell.program(REPORT, *words) as process:
        assert process.stdout is not None
        # The greeting: it serves.
        while not process.stdout.readline().startswith("Pecia "):
            assert process.poll() is None
        answer = ServerClient(shell.lock.url).call("/api/v1/lake/list_sources", {})
        assert isinstance(answer, dict)
        process.terminate()
        return {*json.loads(process.stdout.read().splitlines()[-1])}


def test_a_server_imports_few_modules_before_its_first_answer(modules: set[str]) -> None:
    assert len(modules) <= MAX_MODULES, len(modules)
    ours = [it for it in modules if it.startswith("pecia.")]
    assert len(ours) <= MAX_OF_OURS, len(ours)


def test_what_no_call_has_needed_is_not_imported(modules: set[str]) -> None:
    assert sorted(modules & {*DEFERRED}) == []


def test_the_modules_of_the_call_itself_are(modules: set[str]) -> None:
    assert "pecia.features.lake.tools.catalog" in modules
