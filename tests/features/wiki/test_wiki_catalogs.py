"""Catalogs: agents are told to begin there, and a change is in them before long."""

import anyio
import pytest

from pecia.features.wiki.jobs import CATALOG_INTERVAL_S, CatalogMaintenance
from pecia.features.wiki.sync import SpaceSync
from tests.features.wiki.conftest import ENDPOINT, Served, Space
from tests.mcp.raw_mcp import RawMcp

pytestmark = pytest.mark.anyio

INDEX = ".pecia/catalogs/INDEX.md"


@pytest.mark.requirement("wiki.catalog.named_in_instructions")
async def test_an_agent_is_told_to_begin_at_the_root_catalog(served: Served, space: Space) -> None:
    space.write({"a.md": "# Alpha\n"})
    told = (await RawMcp(served.http).begin(ENDPOINT))["result"]["instructions"]
    assert INDEX in told
    # And there it is, when the agent does as it is told.
    assert "Alpha" in (await space.value("read_document", path=INDEX))["content"]


@pytest.mark.requirement("wiki.catalog.rebuilt_after_change")
async def test_a_change_is_in_the_catalog_with_the_next_look(served: Served, space: Space) -> None:
    # A worker looks again after so long, however it came to the change.
    assert CATALOG_INTERVAL_S <= 2
    keeping = CatalogMaintenance(served.app.store, SpaceSync(served.app.store))
    space.write({"a.md": "# Alpha\n"})
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(keeping.run)
        for title in ("Alpha", "Beta", "Gamma"):
            space.write({"a.md": f"# {title}\n"})
            with anyio.fail_after(40):
                while f"[{title}](a.md)" not in catalog(space):  # noqa: ASYNC110 - it only changes.
                    await anyio.sleep(0.05)
        tasks.cancel_scope.cancel()


def catalog(space: Space) -> str:
    return space.read(INDEX) if (space.folder / INDEX).exists() else ""


async def test_a_document_has_one_title_everywhere(space: Space) -> None:
    body = "words\n\n# Key *costs*\n\nback to [[t/both]] and [[t/none]]\n"
    space.write(
        {
            "t/http-key-costs.md": body,
            "t/both.md": "---\ntitle: Own\n---\n# Heading\n\nsee [[t/http-key-costs]]\n",
            "t/none.md": "words\n",
            "r/ruled.md": "# Heading\n\nwords\n",
        }
    )
    rule = {"match": "r/**", "frontmatter": {"title": "Rule"}}
    await space.value("set_folder_rule", rules=[rule])
    titles = {
        "t/http-key-costs.md": "Key costs",
        "t/both.md": "Own",
        "t/none.md": "none",
        "r/ruled.md": "Rule",
    }
    for path, title in titles.items():
        read = await space.ask("read_document", path=path)
        assert (read.value["title"], read.text.splitlines()[0]) == (title, f"## {title}")
        listed = await space.value("exec", command=f"cat {path}")
        found = {it["path"]: it["title"] for it in listed["enrichedPaths"]}
        assert found[path] == (None if title == "none" else title)
    hits = (await space.value("search", query="words"))["results"]
    assert {it["path"]: it["title"] for it in hits} == {
        **{it: titles[it] for it in ("t/http-key-costs.md", "r/ruled.md")},
        "t/none.md": None,
    }
