"""One ref of a repository as a source: its files, by the paths below the subfolder."""

from mmap import ALLOCATIONGRANULARITY
from pathlib import Path

import pytest

from pecia.adapters.connectors.filesystem.scan import FileSelection
from pecia.adapters.connectors.git import GitCheckout, open_git
from pecia.adapters.git.fetch import GitFetchPolicy
from pecia.adapters.git.fetch_child import WINDOW_BYTES
from pecia.adapters.git.model import CommitDraft, GitSignature
from pecia.adapters.git.repository import HistoryRepository
from pecia.kernel.corpus.connector import ListedFile, SkippedFile
from pecia.kernel.errors import PayloadTooLarge

pytestmark = pytest.mark.anyio


async def test_the_files_of_a_ref_are_listed_and_opened(tmp_path: Path) -> None:
    history = await HistoryRepository.open(tmp_path / "theirs")
    author = GitSignature("ana", "ana@example.org")
    changes = {"docs/a.md": b"# A\n", "docs/b.txt": b"b\n", "other.md": b"o\n"}
    await history.record(CommitDraft("refs/heads/main", changes, author, "first"))
    url = (tmp_path / "theirs").as_uri()
    checkout = GitCheckout(url, "main", "docs", tmp_path / "ours")
    trust = GitFetchPolicy(folders=(tmp_path,))
    async with open_git(checkout, FileSelection(include=("*.md",)), trust) as place:
        (seen,) = [it async for it in place.listing() if isinstance(it, ListedFile)]
        assert (seen.key, seen.size_bytes, seen.owner) == ("a.md", 4, "ana")
        async with place.opening("a.md", 100) as original:
            assert original.path.read_bytes() == b"# A\n"
        with pytest.raises(PayloadTooLarge):
            async with place.opening("a.md", 1):
                pass


async def test_a_path_longer_than_can_be_kept_is_passed_over(tmp_path: Path) -> None:
    history = await HistoryRepository.open(tmp_path / "theirs")
    long = "/".join(["f" * 200] * 11)
    changes = {"a.md": b"# A\n", f"{long}.md": b"b\n"}
    author = GitSignature("ana", "ana@example.org")
    await history.record(CommitDraft("refs/heads/main", changes, author, "first"))
    checkout = GitCheckout((tmp_path / "theirs").as_uri(), "main", "", tmp_path / "ours")
    async with open_git(checkout, FileSelection(), GitFetchPolicy(folders=(tmp_path,))) as place:
        seen, passed = [it async for it in place.listing()]
    assert isinstance(seen, ListedFile)
    assert seen.key == "a.md"
    assert passed == SkippedFile(long[:200], "the path is longer than 2000 bytes", is_failure=True)


def test_windows_into_a_large_repository_begin_where_memory_can_be_mapped() -> None:
    """They begin at multiples of half their size. Between two pages nothing can be mapped, so a
    pack larger than that could not be copied at all."""
    assert WINDOW_BYTES // 2 % ALLOCATIONGRANULARITY == 0
