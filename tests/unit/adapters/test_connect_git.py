"""One ref of a repository as a source: its files, by the paths below the subfolder."""

from pathlib import Path

import pytest

from pecia.adapters.connect.repository import Checkout, opened
from pecia.adapters.git.fetch import Trust
from pecia.adapters.git.model import Draft, Signature
from pecia.adapters.git.repository import History
from pecia.adapters.scan import Selection
from pecia.kernel.corpus.connector import Seen
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
