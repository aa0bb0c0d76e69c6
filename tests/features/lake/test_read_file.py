"""Reading: the whole text, or a window that slides over it, as the chunks that hits point into."""

from typing import Any

import pytest

from pecia.kernel.errors import MissingField, NotFound, OutOfRange
from tests.features.lake.conftest import Lake

pytestmark = pytest.mark.anyio

LOCATORS = {"seq", "text", "page_no", "char_start", "char_end", "ts_start_ms", "ts_end_ms"}


def lines(count: int) -> str:
    """A file in which every line is a section, so that it has about as many chunks."""
    filler = "words that fill a section well enough to stand alone " * 14
    return "".join(f"# Part {it}\n\nPart {it}: {filler}\n\n" for it in range(count))


async def text(lake: Lake, key: str, **more: Any) -> dict[str, Any]:
    ana = lake.house.ana
    return await lake.house.call(ana, "get_file_text", source_id="docs", key=key, **more)


async def window(lake: Lake, key: str, **more: Any) -> dict[str, Any]:
    ana = lake.house.ana
    return await lake.house.call(ana, "get_file_window", source_id="docs", key=key, **more)


@pytest.mark.requirement("lake.text.whole_file", "lake.text.chunk_fields", "lake.text.status")
async def test_the_whole_text_comes_in_order_with_its_status(lake: Lake) -> None:
    whole = lines(12)
    lake.write({"a.md": whole, "empty.md": "", "bad.pdf": b"%PDF-1.7\nnot really"})
    await lake.crawl()
    found = await text(lake, "a.md")
    assert "".join(it["text"] for it in found["chunks"]) == whole
    assert [it["seq"] for it in found["chunks"]] == [*range(found["total_chunks"])]
    assert found["chunks"][0].keys() >= LOCATORS
    assert (found["status"], found["truncated"]) == ("ok", False)
    assert (await text(lake, "empty.md"))["status"] == "empty"
    bad = await text(lake, "bad.pdf")
    assert (bad["status"], bad["chunks"]) == ("corrupt", [])
    assert bad["reason"]


@pytest.mark.requirement("lake.text.arguments", "lake.window.arguments", "lake.metadata.arguments")
@pytest.mark.parametrize("tool", ["get_file_text", "get_file_window", "get_file_metadata"])
async def test_source_and_key_are_required_and_the_missing_one_is_named(
    lake: Lake, tool: str
) -> None:
    for given, missing in (({"source_id": "docs"}, "key"), ({"key": "a.md"}, "source_id")):
        with pytest.raises(MissingField) as refused:
            await lake.house.call(lake.house.ana, tool, **given)
        assert refused.value.fields["field"] == missing
    with pytest.raises(NotFound):
        await lake.house.call(lake.house.ana, tool, source_id="docs", key="nothing.md")


@pytest.mark.requirement(
    "lake.window.start",
    "lake.window.length_default",
    "lake.window.length_maximum",
    "lake.window.total_chunks",
    "lake.window.next_cursor",
    "lake.window.returned",
    "lake.window.has_more",
    "lake.window.text",
    "lake.window.covers_file",
)
async def test_windows_slide_over_the_whole_file(lake: Lake) -> None:
    whole = lines(60)
    lake.write({"a.md": whole})
    await lake.crawl()
    first = await window(lake, "a.md")
    assert first["chunks"][0]["seq"] == 0
    assert len(first["chunks"]) == first["window"]["returned"] == first["next_cursor"] == 40
    assert first["text"] == "".join(it["text"] for it in first["chunks"])
    total, read, start = first["total_chunks"], "", 0
    assert total > 40
    while True:
        page = await window(lake, "a.md", start=start, length=17)
        assert page["total_chunks"] == total
        assert page["has_more"] == (page["next_cursor"] is not None)
        read += page["text"]
        if page["next_cursor"] is None:
            break
        assert page["next_cursor"] == start + 17
        start = page["next_cursor"]
    assert read == whole
    assert len((await window(lake, "a.md", length=200))["chunks"]) == total
    beyond = await window(lake, "a.md", start=total + 5)
    assert (beyond["chunks"], beyond["has_more"], beyond["next_cursor"]) == ([], False, None)
    for wrong in ({"length": 0}, {"length": 201}, {"start": -1}):
        with pytest.raises(OutOfRange):
            await window(lake, "a.md", **wrong)


@pytest.mark.requirement("lake.text.bound", "lake.text.large_files")
async def test_a_very_long_file_is_cut_and_read_on_by_either_tool(lake: Lake) -> None:
    filler = "word " * 150
    whole = "".join(f"{it} {filler}\n\n" for it in range(1300))
    lake.write({"long.txt": whole})
    await lake.crawl()
    first = found = await text(lake, "long.txt")
    assert found["truncated"]
    assert found["next_cursor"] == len(found["chunks"]) < found["total_chunks"]
    read = "".join(it["text"] for it in found["chunks"])
    while found["next_cursor"] is not None:
        found = await text(lake, "long.txt", start=found["next_cursor"])
        assert found["truncated"] == (found["next_cursor"] is not None)
        read += "".join(it["text"] for it in found["chunks"])
    assert read == whole
    rest = await window(lake, "long.txt", start=first["next_cursor"], length=200)
    assert rest["chunks"][0]["seq"] == first["next_cursor"]
    assert rest["chunks"][0]["char_start"] == first["chunks"][-1]["char_end"]
