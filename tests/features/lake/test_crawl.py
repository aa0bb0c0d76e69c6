"""Crawling a folder: what is new comes, what changed is read again, what is gone goes."""

from pathlib import Path
from typing import Any

import pytest

from pecia.kernel.errors import Forbidden, InvalidFormat, InvalidInput, NotFound
from tests.conftest import CONTEXT, House
from tests.features.lake.conftest import Lake

pytestmark = pytest.mark.anyio


def counts(status: dict[str, Any]) -> tuple[int, ...]:
    return tuple(status[it] for it in ("seen", "added", "changed", "gone", "read", "failed"))


@pytest.mark.requirement("lake.server.serves_crawled_content")
async def test_what_was_crawled_is_found_and_read(lake: Lake) -> None:
    text = "# Brakes\n\nSqueal comes from worn pads.\n"
    lake.write({"guides/brakes.md": text})
    status = await lake.crawl()
    assert (status["state"], counts(status)) == ("done", (1, 1, 0, 0, 1, 0))
    [hit] = (await lake.search("worn pads"))["hits"]
    assert hit["key"] == "guides/brakes.md"
    read = await lake.house.call(
        lake.house.ana, "get_file_text", source_id="docs", key="guides/brakes.md"
    )
    assert "".join(it["text"] for it in read["chunks"]) == text


async def test_a_second_crawl_reads_only_what_changed(lake: Lake) -> None:
    lake.write({"a.md": "first", "b.md": "second", "c.md": "third"})
    await lake.crawl()
    lake.write({"b.md": "second, longer", "d.md": "fourth"})
    (lake.folder / "c.md").unlink()
    assert counts(await lake.crawl()) == (3, 1, 1, 1, 2, 0)
    assert [it["key"] for it in (await lake.search("third"))["hits"]] == []
    assert counts(await lake.crawl()) == (3, 0, 0, 0, 0, 0)


async def test_a_file_that_cannot_be_read_has_a_status_with_its_reason(lake: Lake) -> None:
    lake.write({"bad.pdf": b"%PDF-1.7\nnot really", "good.md": "fine"})
    status = await lake.crawl()
    assert (status["state"], status["failed"]) == ("done", 1)
    bad = await lake.house.call(lake.house.ana, "get_file_text", source_id="docs", key="bad.pdf")
    assert (bad["status"], bad["chunks"]) == ("corrupt", [])
    assert bad["reason"]


async def test_a_folder_that_is_away_fails_the_crawl_and_keeps_the_files(lake: Lake) -> None:
    lake.write({"a.md": "kept"})
    await lake.crawl()
    lake.folder.rename(lake.folder.with_name("elsewhere"))
    status = await lake.crawl()
    assert status["state"] == "failed"
    assert "cannot be read" in status["problem"]
    assert [it["key"] for it in (await lake.search("kept"))["hits"]] == ["a.md"]


async def test_a_stopped_crawl_says_so_and_the_next_one_does_the_rest(lake: Lake) -> None:
    lake.write({"a.md": "one"})
    house = lake.house
    await house.call(house.ana, "crawl_source", source_id="docs")
    stopped = await house.call(house.ana, "stop_crawl", source_id="docs")
    assert stopped["state"] == "stopped"
    assert (await lake.crawl())["state"] == "done"
    assert (await lake.search("one"))["hits"]


async def test_only_owners_crawl_and_see_how_far_it_is(lake: Lake) -> None:
    await lake.crawl()
    house = lake.house
    for tool in ("crawl_source", "crawl_status"):
        with pytest.raises(Forbidden):
            await house.call(house.bo, tool, source_id="docs")


@pytest.mark.parametrize(
    ("given", "field"),
    [
        ({"folder": "relative"}, "folder"),
        ({"folder": "/a/../b"}, "folder"),
        ({"folder": "/a", "git": "https://example.org/r.git"}, "git"),
        ({"s3": "https://bucket"}, "s3"),
        ({"s3": "s3://Bucket"}, "s3"),
        ({"s3": "s3://ab"}, "s3"),
        ({"s3": "s3://192.168.1.1"}, "s3"),
        ({"s3": "s3://two..dots"}, "s3"),
        ({"s3": "s3://bucket", "endpoint": "https://example.org:99999"}, "endpoint"),
        ({"s3": "s3://bucket", "endpoint": "https://127.1"}, "endpoint"),
        ({"web": "https://exa mple.org/"}, "web"),
        ({"web": "https://example.org:99999/"}, "web"),
        ({"web": "https://example.org:x/"}, "web"),
        ({"web": "https://a..b/"}, "web"),
        ({"web": "https://0x7f.1/"}, "web"),
        ({"s3": "s3://bucket", "endpoint": "https://example.org/path"}, "endpoint"),
        ({"s3": "s3://bucket", "endpoint": "https://ana:word@example.org"}, "endpoint"),
        ({"s3": "s3://bucket", "region": "eu west"}, "region"),
        ({"s3": "s3://bucket", "ref": "main"}, "ref"),
        ({"endpoint": "https://example.org"}, "endpoint"),
        ({"git": "file:///srv/../etc"}, "git"),
        ({"git": "https://ghp_0123456789@example.org/r.git"}, "git"),
        ({"git": "ssh://-oProxyCommand=x/r.git"}, "git"),
        ({"ref": "main"}, "ref"),
        ({"schedule": "every day"}, "schedule"),
        ({"web": "https://example.org", "posix": True}, "posix"),
    ],
)
async def test_a_source_that_makes_no_sense_is_refused_by_the_field(
    house: House, given: dict[str, Any], field: str
) -> None:
    with pytest.raises((InvalidInput, InvalidFormat)) as refused:
        await house.call(house.ana, "add_source", source_id="s", **given)
    assert refused.value.fields["field"] == field
    with pytest.raises(NotFound):
        await house.call(house.ana, "list_files", source_id="s")


async def test_another_than_the_owner_of_the_machine_names_no_folder(house: House) -> None:
    await house.call(house.ana, "set_user", name="bo", role="admin")
    bo = await house.app.authenticate(house.bo_token, CONTEXT)
    for where in ({"folder": "/etc"}, {"git": "file:///etc"}, {"git": "file:///%65tc"}):
        with pytest.raises(Forbidden, match="not among those"):
            await house.app.call(bo, "add_source", {"source_id": "etc", **where}, CONTEXT)


async def test_links_out_of_the_folder_are_not_followed(lake: Lake, tmp_path: Path) -> None:
    secret = tmp_path / "secret.md"
    secret.write_text("the hidden word is xylophone")
    (lake.folder / "link.md").symlink_to(secret)
    lake.write({"a.md": "plain"})
    await lake.crawl()
    assert (await lake.search("xylophone"))["hits"] == []


async def test_the_home_of_the_installation_is_never_read(lake: Lake, tmp_path: Path) -> None:
    house = lake.house
    kernel = house.app.settings.kernel
    assert (kernel.home / "keys.json").exists()
    assert kernel.home.is_relative_to(tmp_path)
    (tmp_path / "note.md").write_text("# A note\n\nHerons.")
    await house.call(
        house.ana, "add_source", source_id="all", folder=str(tmp_path), trim_mode="open"
    )
    await lake.crawl("all")
    listed = (await house.call(house.ana, "list_files", source_id="all"))["files"]
    assert "note.md" in [it["key"] for it in listed]
    assert not [it for it in listed if (tmp_path / it["key"]).is_relative_to(kernel.home)]
    with pytest.raises(InvalidInput, match="belongs to Pecia itself"):
        await house.call(house.ana, "add_source", source_id="own", folder=str(kernel.home))
