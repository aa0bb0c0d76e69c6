"""Large documents of strangers: parsed where they can be ended, while others are answered."""

from dataclasses import replace

import anyio
import pytest

from pecia.kernel.errors import Timeout
from tests.compute import workers
from tests.conftest import CONTEXT
from tests.features.wiki.conftest import Space

pytestmark = pytest.mark.anyio

LISTS = "---\na: [" + "1," * 19_000 + "]\n---\nbody\n"
LINKS = "[a](b) " * 140_000


async def test_a_large_document_is_parsed_in_a_worker(space: Space) -> None:
    before = workers()
    await space.value("write_document", docName="large", markdown=LISTS, position="replace")
    assert workers() - before
    assert space.read("large.md") == LISTS


async def test_a_document_that_takes_longer_than_its_call_is_not_written(space: Space) -> None:
    await space.value("write_document", docName="small", markdown="# Small\n", position="replace")
    hurried = replace(CONTEXT, timeout_s=1.5)
    others = 0
    over = anyio.Event()
    before, seen = workers(), set[int]()

    async def ask() -> None:
        nonlocal others
        while not over.is_set():
            await space.value("read_document", path="small")
            others += 1
            seen.update(workers() - before)

    given = {"docName": "late", "markdown": LINKS, "position": "replace", "space": space.name}
    app, who = space.served.app, space.served.ana
    async with anyio.create_task_group() as group:
        group.start_soon(ask)
        with pytest.raises(Timeout):
            await app.call(who, "write_document", {**given}, hurried)
        over.set()
    assert others
    # A worker was started for it, or one that was there was ended with it.
    assert seen or before - workers()
    assert not (space.folder / "late.md").exists()


async def test_frontmatter_that_is_not_read_is_told_to_its_writer(space: Space) -> None:
    head = "".join(f"k{it}: {it}\n" for it in range(60_000))
    text = f"---\n{head}---\n# Body\n"
    done = await space.value("write_document", docName="big", markdown=text, position="replace")
    [told] = [it["message"] for it in done["hints"] if it["type"] == "frontmatter"]
    assert "at most 65536" in told
    assert space.read("big.md") == text
