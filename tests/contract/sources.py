"""What every source of the corpus promises, whatever feature it belongs to.

A test module of a source provides the fixture `kit` and subclasses `SourceContract`:

    class TestWikiAsSource(SourceContract):
        @pytest.fixture
        async def kit(self, house: House) -> AsyncGenerator[Kit]: ...
"""

from typing import Protocol

import pytest

from pecia.kernel.corpus.search.hydrate import ChunkWindow, HydratedChunk
from pecia.kernel.errors import NotFound, PeciaError
from pecia.kernel.identity.caller import Caller

# Long enough that a text of two of them has two chunks.
TROUT = "The brown trout spawns in gravel of cold rivers. " * 18
HERON = "A grey heron waits at the bank without moving. " * 18


class Kit(Protocol):
    """One source, as its feature fills it. `ana` may do everything in it, `bo` nothing at first."""

    @property
    def ana(self) -> Caller: ...
    @property
    def bo(self) -> Caller: ...

    async def put(self, key: str, text: str) -> None:
        """As the feature puts or saves a file."""
        ...

    async def move(self, key: str, to: str) -> None: ...
    async def remove(self, key: str) -> None: ...
    async def purge(self, key: str) -> None: ...

    async def grant(self, folder: str) -> None:
        """Let bo read what is below the folder."""
        ...

    async def revoke(self, folder: str) -> None: ...

    async def search(self, who: Caller, words: str) -> list[HydratedChunk]:
        """What the caller finds, best first, their own last writes included."""
        ...

    async def window(self, who: Caller, key: str, start: int, size: int) -> ChunkWindow: ...

    async def everything(self) -> str:
        """Every row of every table, as text."""
        ...


class SourceContract:
    """The promises. Each starts from an empty source."""

    async def test_what_is_put_is_found_by_its_words_and_read_as_it_was(self, kit: Kit) -> None:
        await kit.put("a/fish.md", TROUT)
        (hit,) = await kit.search(kit.ana, "trout gravel")
        window = await kit.window(kit.ana, "a/fish.md", 0, 10)
        assert hit.key == "a/fish.md"
        assert window.text.strip() == TROUT.strip()
        assert window.text[hit.start : hit.end] == hit.text

    async def test_what_is_put_again_is_found_by_its_new_words_alone(self, kit: Kit) -> None:
        await kit.put("a/fish.md", TROUT)
        await kit.put("a/fish.md", HERON)
        assert await kit.search(kit.ana, "trout") == []
        assert [it.key for it in await kit.search(kit.ana, "heron")] == ["a/fish.md"]

    async def test_putting_the_same_again_changes_nothing(self, kit: Kit) -> None:
        await kit.put("a/fish.md", TROUT)
        before = await kit.search(kit.ana, "trout")
        await kit.put("a/fish.md", TROUT)
        again = await kit.search(kit.ana, "trout")
        assert [(it.id, it.revision_id) for it in again] == [
            (it.id, it.revision_id) for it in before
        ]

    async def test_what_moves_is_found_where_it_went_with_the_same_text(self, kit: Kit) -> None:
        await kit.put("a/fish.md", TROUT)
        (before,) = await kit.search(kit.ana, "trout")
        await kit.move("a/fish.md", "b/trout.md")
        (after,) = await kit.search(kit.ana, "trout")
        assert (after.key, after.id, after.revision_id) == (
            "b/trout.md",
            before.id,
            before.revision_id,
        )
        with pytest.raises(NotFound):
            await kit.window(kit.ana, "a/fish.md", 0, 10)

    async def test_what_is_removed_is_nowhere(self, kit: Kit) -> None:
        await kit.put("a/fish.md", TROUT)
        await kit.remove("a/fish.md")
        assert await kit.search(kit.ana, "trout") == []
        with pytest.raises(NotFound):
            await kit.window(kit.ana, "a/fish.md", 0, 10)

    async def test_what_is_purged_leaves_no_word_behind(self, kit: Kit) -> None:
        await kit.put("a/fish.md", HERON)
        await kit.put("a/fish.md", TROUT)
        await kit.purge("a/fish.md")
        left = await kit.everything()
        assert "heron" not in left
        assert "trout" not in left

    async def test_windows_one_after_another_are_the_file(self, kit: Kit) -> None:
        await kit.put("a/both.md", f"{TROUT}\n\n{HERON}")
        read = ""
        start: int | None = 0
        while start is not None:
            window = await kit.window(kit.ana, "a/both.md", start, 1)
            read += window.text
            start = window.next_start
        assert read.strip() == f"{TROUT}\n\n{HERON}".strip()

    async def test_who_may_not_see_a_file_finds_and_reads_nothing_of_it(self, kit: Kit) -> None:
        await kit.put("a/fish.md", TROUT)
        assert await kit.search(kit.bo, "trout") == []
        said = {await _refusal(kit, key) for key in ("a/fish.md", "a/none.md")}
        assert len(said) == 1

    async def test_a_grant_shows_its_folder_and_no_other_at_once(self, kit: Kit) -> None:
        await kit.put("a/fish.md", TROUT)
        await kit.put("b/fish.md", f"{TROUT} Also here.")
        await kit.grant("b/")
        assert [it.key for it in await kit.search(kit.bo, "trout")] == ["b/fish.md"]
        assert (await kit.window(kit.bo, "b/fish.md", 0, 1)).chunks

    async def test_a_revoked_grant_is_gone_from_the_next_answer(self, kit: Kit) -> None:
        await kit.put("a/fish.md", TROUT)
        await kit.grant("a/")
        assert await kit.search(kit.bo, "trout") != []
        await kit.revoke("a/")
        assert await kit.search(kit.bo, "trout") == []
        with pytest.raises(NotFound):
            await kit.window(kit.bo, "a/fish.md", 0, 1)


async def _refusal(kit: Kit, key: str) -> str:
    """What bo is told of a file, but for its name."""
    with pytest.raises(PeciaError) as caught:
        await kit.window(kit.bo, key, 0, 10)
    return repr(caught.value.payload()).replace(key, "KEY")
