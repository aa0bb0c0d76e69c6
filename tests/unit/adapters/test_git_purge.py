"""After a purge not one byte is left, and the rest of the history still stands."""

import shutil
import zlib
from pathlib import Path

import pytest

from pecia.adapters.git.model import CommitDraft, GitSignature
from pecia.adapters.git.repository import HistoryRepository
from pecia.kernel.errors import InvalidFormat, NotFound

pytestmark = pytest.mark.anyio

MAIN = "refs/heads/main"
ANA = GitSignature("ana", "ana@example.com")
SECRET = b"the combination of the safe is 17-4-23\n"


@pytest.fixture
async def history(tmp_path: Path) -> HistoryRepository:
    return await HistoryRepository.open(tmp_path / "history.git")


async def record(
    history: HistoryRepository,
    message: str,
    changes: dict[str, bytes | None],
    parents: tuple[str, ...] | None = None,
) -> str:
    draft = CommitDraft(MAIN, changes, ANA, message, parents=parents, kept=not changes)
    commit = await history.record(draft)
    assert commit is not None
    return commit.oid


def hiding_places(place: Path, needle: bytes) -> list[str]:
    """Files of the repository that hold these bytes, plain or compressed, at any offset."""
    found: list[str] = []
    for file in (it for it in place.rglob("*") if it.is_file()):
        raw = file.read_bytes()
        starts = [at for at in range(len(raw)) if raw[at] & 0x0F == 8]
        if needle in raw or any(needle in _opened(raw[at:]) for at in starts):
            found.append(str(file.relative_to(place)))
    return found


def _opened(raw: bytes) -> bytes:
    try:
        return zlib.decompressobj().decompress(raw)
    except zlib.error:
        return b""


async def subjects(history: HistoryRepository) -> list[str]:
    return [it.subject for it in (await history.log(["main"])).commits]


async def test_no_byte_of_a_purged_file_is_left(history: HistoryRepository) -> None:
    await record(history, "start", {"a.md": b"kept"})
    await record(history, "add the secret", {"d/secret.md": SECRET})
    await record(history, "both", {"a.md": b"kept too", "d/secret.md": SECRET + b"more"})
    await record(history, "remove", {"d/secret.md": None})
    assert hiding_places(history.place, SECRET)
    purged = await history.purge(["d/secret.md"])
    assert hiding_places(history.place, SECRET) == []
    assert hiding_places(history.place, b"add the secret") == []
    assert (purged.rewritten, purged.dropped, purged.still_held) == (1, 2, ())
    assert await subjects(history) == ["both", "start"]
    assert await history.read("main", "a.md") == b"kept too"
    assert (await history.history(["main"], "d/secret.md")).steps == ()


async def test_no_byte_is_left_in_packs_either(history: HistoryRepository) -> None:
    for number in range(20):
        text = b"".join(b"line %d\n" % line for line in range(200)) + b"%d" % number
        await record(history, f"{number}", {"a.md": text, "secret.md": text + SECRET})
    await history.compact()
    assert hiding_places(history.place, SECRET)
    await history.purge(["secret.md"])
    assert hiding_places(history.place, SECRET) == []
    assert (await history.read("main", "a.md")).endswith(b"\n19")
    assert len(await subjects(history)) == 20


async def test_a_purged_folder_takes_all_it_holds_with_it(history: HistoryRepository) -> None:
    await record(history, "start", {"a.md": b"1", "d/one.md": SECRET, "d/e/two.md": SECRET})
    await history.purge(["d"])
    assert [it.path for it in (await history.tree("main")).files] == ["a.md"]
    assert hiding_places(history.place, SECRET) == []


async def test_every_reference_and_tag_is_rewritten(history: HistoryRepository) -> None:
    first = await record(history, "start", {"a.md": b"1", "secret.md": SECRET})
    await history.tag("light", first)
    await history.tag("heavy", first, message="with a record", tagger=ANA)
    await history.point("refs/wip/main/ana", first)
    await record(history, "later", {"a.md": b"2"})
    await history.purge(["secret.md"])
    for ref in ("light", "heavy", "refs/wip/main/ana", "main"):
        assert [it.path for it in (await history.tree(ref)).files] == ["a.md"]
    assert await history.read("heavy", "a.md") == b"1"
    assert hiding_places(history.place, SECRET) == []


async def test_a_reference_that_held_nothing_else_is_removed(history: HistoryRepository) -> None:
    await record(history, "start", {"secret.md": SECRET})
    await history.tag("v1", "main")
    await history.purge(["secret.md"])
    assert await history.references() == {}
    with pytest.raises(NotFound):
        await history.commit("main")
    assert hiding_places(history.place, SECRET) == []
    await record(history, "anew", {"a.md": b"1"})


async def test_the_same_words_under_another_name_stay_and_are_reported(
    history: HistoryRepository,
) -> None:
    await record(history, "start", {"secret.md": SECRET, "copy.md": SECRET})
    purged = await history.purge(["secret.md"])
    assert len(purged.still_held) == 1
    assert await history.read("main", "copy.md") == SECRET


async def test_messages_can_be_reworded_on_the_way(history: HistoryRepository) -> None:
    message = 'wip: 2 docs\n\nActor: {"docs":["secret.md"]}\n'
    await record(history, message, {"a.md": b"1", "secret.md": SECRET})
    await history.purge(["secret.md"], reword=lambda it: it.replace("secret.md", "(purged)"))
    assert (await history.commit("main")).trailers == (("Actor", '{"docs":["(purged)"]}'),)
    assert hiding_places(history.place, b"secret.md") == []


async def test_a_merge_survives_and_an_empty_version_too(history: HistoryRepository) -> None:
    base = await record(history, "base", {"a.md": b"1"})
    await history.point("refs/heads/side", base)
    side = await history.record(CommitDraft("refs/heads/side", {"secret.md": SECRET}, ANA, "side"))
    assert side is not None
    main = await record(history, "main", {"a.md": b"2"})
    await record(history, "merge", {"secret.md": SECRET}, parents=(main, side.oid))
    await record(history, "a named version", {})
    await history.purge(["secret.md"])
    assert await subjects(history) == ["a named version", "merge", "main", "base"]
    assert hiding_places(history.place, SECRET) == []


async def test_a_purge_of_what_never_was_changes_nothing(history: HistoryRepository) -> None:
    before = await record(history, "start", {"a.md": b"1"})
    purged = await history.purge(["b.md", "a.md/inside"])
    assert (purged.rewritten, purged.dropped) == (0, 0)
    assert (await history.commit("main")).oid == before
    with pytest.raises(InvalidFormat):
        await history.purge(["../a.md"])


async def test_a_purge_that_was_interrupted_is_finished_by_the_next(
    history: HistoryRepository, tmp_path: Path
) -> None:
    await record(history, "start", {"a.md": b"1", "secret.md": SECRET})
    await record(history, "more", {"a.md": b"2"})
    untouched = tmp_path / "untouched.git"
    shutil.copytree(history.place, untouched)
    await history.purge(["secret.md"])
    # As if it had stopped after the references had moved, before the old objects were removed.
    shutil.copytree(untouched / "objects", history.place / "objects", dirs_exist_ok=True)
    (history.place / "objects/repack-left").mkdir()
    (history.place / "objects/repack-left/pack-1.pack").write_bytes(SECRET)
    assert hiding_places(history.place, SECRET)
    await history.purge(["secret.md"])
    assert hiding_places(history.place, SECRET) == []
    assert await history.read("main", "a.md") == b"2"
