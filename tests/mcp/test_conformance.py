"""The conformance suite of the protocol, run against us."""

import re
from pathlib import Path

import pytest

from scripts.node import TOOLS, node
from tests.mcp.conftest import BIT, Served
from tests.mcp.tools import needs, run

pytestmark = [
    pytest.mark.anyio,
    pytest.mark.slow,
    pytest.mark.timeout(240),
    needs("node22", "conformance"),
]

SUITE = TOOLS / "conformance/node_modules/@modelcontextprotocol/conformance/dist/index.js"
_LINE = re.compile(r"^([✓✗]) ([a-z0-9-]+): (\d+) passed, (\d+) failed", re.MULTILINE)

# What needs no fixture, and so must hold wherever we serve.
GENERIC = ("server-initialize", "ping", "tools-list", "server-session-lifecycle")
GENERIC_MODERN = ("tools-list", "caching", "http-header-validation", "sep-2164-resource-not-found")

EXTRA = {"2025-11-25": 3, "2026-07-28": 13}
REQUIRED = {"2025-11-25": 30, "2026-07-28": 37}


async def outcomes(served: Served, cwd: Path, path: str, *words: str) -> dict[str, tuple[int, int]]:
    """Passed and failed checks by scenario."""
    done = await run([node(), SUITE, "server", "--url", f"{served.url}{path}", *words], cwd)
    found = _LINE.findall(done.stdout)
    return {name: (int(passed), int(failed)) for _, name, passed, failed in found}


@pytest.mark.parametrize("revision", ["2025-11-25", "2026-07-28"])
async def test_every_scenario_of_a_revision_passes(
    served: Served, tmp_path: Path, revision: str
) -> None:
    found = await outcomes(served, tmp_path, BIT, "--requirements", revision)
    assert [name for name, (_, failed) in found.items() if failed] == []
    # The unscored ones are run along: the tasks extension is among them.
    assert len(found) == REQUIRED[revision] + EXTRA[revision]
    tasks = [name for name, (passed, _) in found.items() if name.startswith("tasks-") and passed]
    assert len(tasks) == (9 if revision == "2026-07-28" else 0)


@pytest.mark.parametrize("path", ["/mcp", "/mcp/all"])
async def test_what_needs_no_fixture_passes_on_every_endpoint(
    served: Served, tmp_path: Path, path: str
) -> None:
    for revision, scenarios in (("2025-11-25", GENERIC), ("2026-07-28", GENERIC_MODERN)):
        for name in scenarios:
            words = ("--scenario", name, "--spec-version", revision)
            done = await run(
                [node(), SUITE, "server", "--url", f"{served.url}{path}", *words], tmp_path
            )
            assert done.returncode == 0, (name, done.stdout[-2000:])
