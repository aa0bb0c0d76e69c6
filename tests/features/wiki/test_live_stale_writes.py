"""A program writes a live document from a text that was replaced since, and the file is read late:
what it was made from is known until then."""

import re
from pathlib import Path

import pytest
from psycopg.types.json import Jsonb

from pecia.adapters.git.repository import HistoryRepository
from pecia.features.wiki.live import copies
from pecia.features.wiki.live.core.crdt import LiveText
from pecia.features.wiki.live.core.debounce import FlushKind
from pecia.features.wiki.live.flush import LiveFlusher
from pecia.features.wiki.live.store import SQL, SystemLiveRows
from pecia.features.wiki.space_recovery import SpaceRecovery
from pecia.features.wiki.store import SpaceLocation
from tests.features.wiki.conftest import Space

pytestmark = pytest.mark.anyio

PAGE = "# Plan\n\none;two;three;\nEND\n"
WORD = re.compile(r"[a-z]+\d+")


@pytest.fixture
def plan(space: Space) -> Space:
    space.write({"plan.md": PAGE})
    return space


def flusher_of(space: Space) -> tuple[LiveFlusher, SpaceLocation]:
    place = SpaceLocation(
        space.served.ana.tenant_id, f"wiki:{space.name}", space.folder.resolve(), ""
    )
    return LiveFlusher(SpaceRecovery(space.served.app.store, HistoryRepository.open)), place


def rename_over(file: Path, text: str) -> None:
    other = file.with_name(".other")
    other.write_text(text, "utf-8")
    other.replace(file)


async def test_what_a_stale_text_was_made_from_is_known_until_the_file_could_be_read(
    plan: Space, monkeypatch: pytest.MonkeyPatch
) -> None:
    flusher, place = flusher_of(plan)
    await flusher.make_live(place, "plan.md", 1_000_000)
    file = plan.folder / "plan.md"
    stale = file.read_text("utf-8")
    await plan.value("edit_document", docName="plan", find="one;", replace="one;a1;a2;a3;a4;")
    rename_over(file, stale.replace("three;", "three;p1;"))
    # The next program is in the middle of writing it, for longer than replaced files are kept.
    with file.open("r+b", buffering=0) as writing:
        monkeypatch.setattr(copies, "COPY_TTL_S", 0.0)
        await flusher.flush(place, "plan.md")
        body = writing.read()
        writing.seek(0)
        writing.write(body.replace(b"p1;", b"p1;p2;"))
    await flusher.flush(place, "plan.md")
    assert sorted(WORD.findall(plan.read("plan.md"))) == ["a1", "a2", "a3", "a4", "p1", "p2"]


async def test_a_file_that_is_read_is_written_only_where_a_program_wrote(plan: Space) -> None:
    flusher, place = flusher_of(plan)
    id_ = await flusher.make_live(place, "plan.md", 1_000_000)
    file = plan.folder / "plan.md"
    async with plan.served.app.store.system() as tx:
        row = await SystemLiveRows(tx, place).find("plan.md")
        assert row is not None
        typed = LiveText(row.base).rewrite(PAGE.replace("one;", "one;a1;"))
        asked = {"tenant_id": place.tenant_id, "id": id_, "owners": Jsonb({})}
        await tx.execute(SQL["add_changes"], **asked, changes=[typed], writers=["ana"])
    # What was typed can wait.
    await flusher.flush(place, "plan.md", FlushKind.READ)
    assert file.read_text("utf-8") == PAGE
    rename_over(file, PAGE.replace("three;", "three;p1;"))
    await flusher.flush(place, "plan.md", FlushKind.READ)
    assert sorted(WORD.findall(file.read_text("utf-8"))) == ["a1", "p1"]
