"""Search by author: a user, a kind of author, a name in a git repository; and whom one may know."""

import subprocess
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from pecia.kernel.corpus.catalog import texts
from pecia.kernel.corpus.catalog.catalog import FileMetadata
from pecia.kernel.corpus.catalog.texts import ExtractedText
from pecia.kernel.corpus.provenance import with_writer
from pecia.kernel.errors import Json
from pecia.kernel.identity.caller import Caller
from pecia.kernel.text.canonical import RawUnit, UnitKind, build_canonical_text
from tests.conftest import CONTEXT
from tests.features.lake.conftest import Lake
from tests.features.lake.test_semantic_search import embed

pytestmark = pytest.mark.anyio

AGENT_CONTEXT = replace(CONTEXT, interface="mcp")


@pytest.fixture
async def written(lake: Lake, tmp_path: Path) -> Lake:
    """A space with a page of ana, one of her agent and one of bo; a folder; a git repository."""
    house = lake.house
    (tmp_path / "notes").mkdir()
    await house.call(house.ana, "add_space", name="notes", folder=str(tmp_path / "notes"))
    await house.call(house.ana, "grant", source_id="wiki:notes", to="user:bo", role="writer")
    await _write(lake, house.ana, "ana", "The lantern is of tin.")
    await _write(lake, house.ana, "agent", "The lantern is of brass.", is_agent=True)
    await _write(lake, house.bo, "bo", "The lantern is of glass.")
    lake.write({"found.md": "The lantern hangs north.\n"})
    repository = _repository(tmp_path / "code", {"lamp.md": "The lantern burns oil.\n"})
    await house.call(house.ana, "add_source", source_id="code", git=repository, trim_mode="open")
    await lake.crawl()
    await lake.crawl("code")
    return lake


async def _write(lake: Lake, who: Caller, name: str, text: str, *, is_agent: bool = False) -> None:
    page: dict[str, Json] = {"docName": name, "position": "replace", "space": "notes"}
    page["markdown"] = f"# {name.title()}\n\n{text}\n"
    await lake.house.app.call(who, "write_document", page, AGENT_CONTEXT if is_agent else CONTEXT)


def _repository(folder: Path, files: dict[str, str]) -> str:
    folder.mkdir()
    for name, text in files.items():
        (folder / name).write_text(text)
    who = ["-c", "user.name=Zoë Keeper", "-c", "user.email=zoe@example.org"]
    for words in (["init", "-q", "-b", "main"], ["add", "."], [*who, "commit", "-qm", "Lamp"]):
        subprocess.run(["git", "-C", str(folder), *words], check=True)
    return f"file://{folder}"


async def found(lake: Lake, **more: Any) -> set[str]:
    return {it["key"] for it in (await lake.search("lantern", **more))["hits"]}


async def test_hits_say_who_wrote_them_and_are_found_by_it(written: Lake) -> None:
    ana = written.house.ana.user
    hits = (await written.search("lantern"))["hits"]
    authors = {it["key"]: it["authors"] for it in hits}
    assert authors == {
        "ana.md": [ana],
        "agent.md": [ana],
        "bo.md": ["bo"],
        "found.md": [],
        "lamp.md": ["Zoë Keeper"],
    }
    for mode in ("lexical", "hybrid"):
        assert await found(written, mode=mode, author=ana) == {"ana.md", "agent.md"}
        assert await found(written, mode=mode, author="BO") == {"bo.md"}
        assert await found(written, mode=mode, author="agent") == {"agent.md"}
        assert await found(written, mode=mode, author="person") == {"ana.md", "bo.md"}
        assert await found(written, mode=mode, author="zoë keeper") == {"lamp.md"}
        assert await found(written, mode=mode, author="nobody") == set()


async def test_the_author_filters_what_is_found_by_meaning_too(written: Lake) -> None:
    await embed(written.house)
    ask = "a portable light made of metal"
    assert (await written.search(ask))["hits"]
    hits = (await written.search(ask, author="bo"))["hits"]
    assert {it["key"] for it in hits} <= {"bo.md"}
    assert hits


async def test_who_writes_last_is_the_author(written: Lake) -> None:
    await _write(written, written.house.bo, "ana", "The lantern is of tin and of lead.")
    await written.index()
    assert await found(written, author="bo") == {"ana.md", "bo.md"}


async def test_a_crawl_that_comes_before_the_writers_commit_takes_no_author_away(
    written: Lake,
) -> None:
    house = written.house
    facts = FileMetadata("wiki:notes", "early.md")
    words = "The lantern is of horn."
    text = ExtractedText(
        build_canonical_text([RawUnit(1, UnitKind.SECTION, words)]), extractor="md 1"
    )
    by_bo = replace(text, extractor=with_writer("md 1", [f"principal-{house.bo.user_id}"]))
    for it in (text, by_bo, text):
        async with house.app.store.system() as tx:
            await texts.put(tx, facts, it, tenant_id=house.ana.tenant_id)
        await written.index()
    assert await found(written, author="bo") == {"bo.md", "early.md"}


async def test_neither_a_hit_nor_an_author_of_what_is_hidden_shows(written: Lake) -> None:
    house = written.house
    await house.call(house.ana, "grant", source_id="wiki:notes", to="user:bo", role=None)
    await house.call(house.ana, "set_source", source_id="wiki:notes", trim_mode="source_only")
    await house.call(house.ana, "set_source", source_id="code", trim_mode="source_only")
    hits = (await written.search("lantern", who=house.bo))["hits"]
    assert [(it["key"], it["authors"]) for it in hits] == [("found.md", [])]
    for author in (house.ana.user, "bo", "agent", "person", "Zoë Keeper"):
        assert await found(written, who=house.bo, author=author) == set()
