"""A text that holds what was asked stands above one whose name alone does, by words alone too."""

import pytest

from tests.features.lake.conftest import Lake

pytestmark = pytest.mark.anyio

FILLER = "It has more to say of other things, which nobody asks for here. " * 12
ANSWER = (
    "# Functions of higher order\n\nA decorator keeps the result of a function by its arguments "
    f"in a cache: called again with the same ones, it answers from there.\n\n{FILLER}\n"
)
NAMED = "# apt-cache\n\nLooks for a package in the lists, and tells which version it would take.\n"
QUESTION = "keep the result of a function by its arguments in a cache"


async def test_a_file_that_is_called_like_a_word_of_the_question_does_not_outrank_the_answer(
    lake: Lake,
) -> None:
    others = {
        f"note-{it}.md": f"# Note {it}\n\nThe result of a function has {it} arguments.\n"
        for it in range(40)
    }
    lake.write({"apt-cache.md": NAMED, "library.md": ANSWER, **others})
    await lake.crawl()
    found = await lake.search(QUESTION, mode="lexical")
    assert [it["key"] for it in found["hits"]][:2] == ["library.md", "apt-cache.md"]
    assert found["hits"][0]["match"] > found["hits"][1]["match"]
