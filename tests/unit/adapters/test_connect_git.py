"""One ref of a repository as a source: its files, by the paths below the subfolder."""

from mmap import ALLOCATIONGRANULARITY
from pathlib import Path

import pytest

from pecia.adapters.connect.repository import Checkout, opened
from pecia.adapters.git.child import WINDOW_BYTES
from pecia.adapters.git.fetch import Trust
from pecia.adapters.git.model import Draft, Signature
from pecia.adapters.git.repository import History
from pecia.adapters.scan import Selection
from pecia.kernel.corpus.connector import Passed, Seen
from pecia.kernel.errors import PayloadTooLarge

pytestmark = pytest.mark.anyio


async def test_the_files_of_a_ref_are_listed_and_opened(tmp_path: Path) -> None:
    history = await History.open(tmp_path / "theirs")
    author = Signature("ana", "ana@example.org")
    changes = {"docs/a.md": b"# A\n", "docs/b.txt": b"b\n", "other.md": b"o\n"}
    await history.record(Draft("refs/heads/main", changes, author, "first"))
    url = (tmp_path / "theirs").as_uri()
    checkout = Checkout(url, "main", "docs", tmp_path / "ours")
    trust = Trust(folders=(tmp_path,))
    async with opened(checkout, Selection(include=("*.md",)), trust) as place:
        (seen,) = [it async for it in place.listing() if isinstance(it, Seen)]
        assert (seen.key, seen.size_bytes, seen.owner) == ("a.md", 4, "ana")
        async with place.opening("a.md", 100) as original:
            assert original.path.read_bytes() == b"# A\n"
        with pytest.raises(PayloadTooLarge):
            async with place.opening("a.md", 1):
                pass


async def test_a_path_longer_than_can_be_kept_is_passed_over(tmp_path: Path) -> None:
    history = await History.open(tmp_path / "theirs")
    long = "/".join(["f" * 200] * 11)
    changes = {"a.md": b"# A\n", f"{long}.md": b"b\n"}
    author = Signature("ana", "ana@example.org")
    await history.record(Draft("refs/heads/main", changes, author, "first"))
    checkout = Checkout((tmp_path / "theirs").as_uri(), "main", "", tmp_path / "ours")
    async with opened(checkout, Selection(), Trust(folders=(tmp_path,))) as place:
        seen, passed = [it async for it in place.listing()]
    assert isinstance(seen, Seen)
    assert seen.key == "a.md"
    assert passed == Passed(long[:200], "the path is longer than 2000 bytes")


def test_windows_into_a_large_repository_begin_where_memory_can_be_mapped() -> None:
    """They begin at multiples of half their size. Between two pages nothing can be mapped, so a
    pack larger than that could not be copied at all."""
    assert WINDOW_BYTES // 2 % ALLOCATIONGRANULARITY == 0
