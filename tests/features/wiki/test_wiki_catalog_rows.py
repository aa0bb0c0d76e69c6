"""Tools that write, while the lake crawls the same folder and keeps rows of the same files."""

from typing import Any

import anyio
import pytest

from pecia.kernel.corpus.catalog import texts
from pecia.kernel.corpus.catalog.catalog import FileMetadata
from tests.conftest import CONTEXT
from tests.features.wiki.conftest import Space

pytestmark = pytest.mark.anyio

WAITING = "SELECT count(*) FROM pg_locks WHERE NOT granted"


async def test_a_document_that_the_lake_took_for_gone_is_renamed_and_found(space: Space) -> None:
    await space.value("write_document", docName="a", markdown="# A\n\nplover [[b]]\n")
    await space.value("write_document", docName="b", markdown="# B\n\ndunlin\n")
    change = {"docName": "b", "find": "dunlin", "replace": "dunlin, sanderling"}
    await space.value("edit_document", **change, suggest=True)
    await _take_for_gone(space, "b.md")
    await space.value("rename_document", docName="b", newDocName="birds/c")
    assert space.read("a.md") == "# A\n\nplover [[birds/c]]\n"
    await space.served.index()
    found = await space.value("search", query="dunlin", mode="ranked")
    assert [it["docName"] for it in found["results"]] == ["birds/c"]
    suggested = await space.value("list_suggestions")
    assert [(it["docName"], it["documentExists"]) for it in suggested["suggestions"]] == [
        ("birds/c", True)
    ]


async def test_a_folder_with_documents_that_the_lake_took_for_gone_is_renamed(space: Space) -> None:
    for name in ("d/a", "d/b", "d/c"):
        await space.value("write_document", docName=name, markdown=f"# {name}\n\nknot\n")
    await _take_for_gone(space, "d/a.md", "d/c.md")
    await space.value("rename_folder", fromFolder="d", toFolder="e")
    await space.served.index()
    found = await space.value("search", query="knot", mode="ranked")
    assert sorted(it["docName"] for it in found["results"]) == ["e/a", "e/b", "e/c"]


async def test_a_document_that_the_lake_took_for_gone_is_deleted(space: Space) -> None:
    await space.value("write_document", docName="a", markdown="ruff\n")
    await _take_for_gone(space, "a.md")
    await space.value("delete_document", docName="a")
    assert not (space.folder / "a.md").exists()
    history = await space.value("get_history", docName="a")
    assert history["total"] == 2


async def test_a_rename_to_a_name_of_which_the_lake_still_has_a_row(space: Space) -> None:
    await space.value("write_document", docName="a", markdown="# A\n\nturnstone\n")
    async with space.served.app.store.system() as tx:
        stale = FileMetadata(f"wiki:{space.name}", "b.md", etag="of another file")
        await texts.put(tx, stale, None, tenant_id=space.served.ana.tenant_id)
    await space.value("rename_document", docName="a", newDocName="b")
    await space.served.index()
    found = await space.value("search", query="turnstone", mode="ranked")
    assert [it["docName"] for it in found["results"]] == ["b"]


async def test_rows_have_their_new_names_before_the_files_so_that_none_is_taken_for_gone(
    space: Space,
) -> None:
    await space.value("write_document", docName="a", markdown="sanderling\n")
    store = space.served.app.store
    async with anyio.create_task_group() as tasks, store.system() as tx:
        where = {"source": f"wiki:{space.name}"}
        await tx.fetch_all(
            "SELECT FROM kernel.file WHERE source_id = %(source)s FOR UPDATE", **where
        )
        tasks.start_soon(_rename, space, "a", "b")
        with anyio.fail_after(30):
            while not await tx.fetch_value(WAITING):
                await anyio.lowlevel.checkpoint()
        assert (space.folder / "a.md").exists()
    assert space.read("b.md") == "sanderling\n"


async def test_a_renamed_document_without_a_title_is_found_by_its_new_name(space: Space) -> None:
    await space.value("write_document", docName="whimbrel", markdown="no heading here\n")
    await space.value("write_document", docName="stint", markdown="# Stint\n\na heading here\n")
    await space.value("rename_document", docName="whimbrel", newDocName="waders/godwit")
    await space.value("rename_document", docName="stint", newDocName="dunlin")
    await space.served.index()
    found = await _search(space, "heading")
    assert {it["key"]: it["title"] for it in found} == {
        "waders/godwit.md": "godwit",
        "dunlin.md": "Stint",
    }
    assert {it["provenance"] for it in found} == {"written by an agent"}
    assert [it["key"] for it in await _search(space, "whimbrel")] == []


async def _search(space: Space, words: str) -> list[dict[str, Any]]:
    served = space.served
    asked = {"query": words, "source_id": f"wiki:{space.name}", "mode": "lexical"}
    answer = await served.app.call(served.ana, "search_content", asked, CONTEXT)
    found: Any = answer.structured
    return found["hits"]


async def _rename(space: Space, old: str, new: str) -> None:
    await space.value("rename_document", docName=old, newDocName=new)


async def _take_for_gone(space: Space, *keys: str) -> None:
    """What the lake does with keys whose files were missing when it looked."""
    async with space.served.app.store.system() as tx:
        for key in keys:
            source_id, tenant_id = f"wiki:{space.name}", space.served.ana.tenant_id
            await texts.remove(tx, source_id, key, tenant_id=tenant_id)
