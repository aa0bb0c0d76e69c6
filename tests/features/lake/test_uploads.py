"""Uploads: what is sent is kept, found and read; who may not write sends nothing."""

from base64 import b64encode
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest

from pecia.app.dispatch import Operation
from pecia.features.lake.downloads.link import DownloadTicket
from pecia.kernel.errors import Forbidden, InvalidFormat, InvalidInput, Json, NotFound
from pecia.kernel.identity.caller import Scope
from pecia.kernel.tool.call import Call
from tests.conftest import CONTEXT, House
from tests.features.lake.conftest import Lake

pytestmark = pytest.mark.anyio


@pytest.fixture
async def inbox(house: House, tmp_path: Path) -> Lake:
    await house.call(
        house.ana, "add_source", source_id="inbox", trim_mode="open", protocol="upload"
    )
    return Lake(house, tmp_path)


async def send(lake: Lake, key: str, body: bytes, source: str = "inbox") -> None:
    content = b64encode(body).decode()
    house = lake.house
    await house.call(house.ana, "upload_file", source_id=source, key=key, content=content)


async def original(lake: Lake, url: str) -> bytes:
    """What the link of a hit opens."""
    [token] = parse_qs(urlsplit(url).query)["token"]
    app = lake.house.app
    ticket: DownloadTicket = app.original_fetcher.open_ticket(token)

    async def fetch(call: Call) -> bytes:
        with (await app.original_fetcher.fetch(call, ticket)).body as body:
            return body.read()

    return await app.dispatcher.run(ticket.caller, Operation("test", Scope.READ), CONTEXT, fetch)


async def test_what_is_sent_is_found_kept_replaced_and_removed(inbox: Lake) -> None:
    await send(inbox, "2026/letter.md", b"# Letter\r\n\r\nDear bicycle.\r\n")
    status = await inbox.crawl("inbox")
    assert (status["state"], status["added"]) == ("done", 1)
    [hit] = (await inbox.search("bicycle", mode="lexical"))["hits"]
    assert (hit["source_id"], hit["key"]) == ("inbox", "2026/letter.md")
    assert await original(inbox, hit["url"]) == b"# Letter\r\n\r\nDear bicycle.\r\n"
    await send(inbox, "2026/letter.md", b"Dear tricycle.")
    assert (await inbox.crawl("inbox"))["changed"] == 1
    assert (await inbox.search("tricycle", mode="lexical"))["hits"]
    assert not (await inbox.search("bicycle", mode="lexical"))["hits"]
    house = inbox.house
    named: dict[str, Json] = {"source_id": "inbox", "key": "2026/letter.md"}
    await house.call(house.ana, "remove_upload", **named)
    with pytest.raises(NotFound):
        await house.call(house.ana, "get_file_text", **named)
    with pytest.raises(NotFound):
        await house.call(house.ana, "remove_upload", **named)
    assert not (await inbox.search("tricycle", mode="lexical"))["hits"]


async def test_a_file_of_another_kind_of_source_is_kept_nowhere(lake: Lake) -> None:
    lake.write({"a.md": "plain"})
    await lake.crawl()
    async with lake.house.app.store.system() as tx:
        assert await tx.fetch_value("SELECT count(*) FROM lake.upload") == 0
    with pytest.raises(InvalidInput) as refused:
        await send(lake, "b.md", b"x", source="docs")
    assert refused.value.fields["field"] == "source_id"


async def test_only_writers_send_and_remove(inbox: Lake) -> None:
    house = inbox.house
    asked: dict[str, Json] = {"source_id": "inbox", "key": "a.md", "content": "aGk="}
    with pytest.raises(Forbidden):
        await house.call(house.bo, "upload_file", **asked)
    await house.call(house.ana, "grant", source_id="inbox", to="user:bo", role="writer")
    await house.call(house.bo, "upload_file", **asked)
    assert (await inbox.crawl("inbox"))["seen"] == 1


@pytest.mark.parametrize(
    ("given", "field"),
    [
        ({"key": "/etc/passwd"}, "key"),
        ({"key": "a/../b"}, "key"),
        ({"key": "a//b"}, "key"),
        ({"key": "\u4e2d" * 700}, "key"),
        ({"content": "not base64!"}, "content"),
    ],
)
async def test_what_makes_no_sense_is_refused_by_the_field(
    inbox: Lake, given: dict[str, Json], field: str
) -> None:
    asked: dict[str, Json] = {"source_id": "inbox", "key": "a.md", "content": "aGk=", **given}
    with pytest.raises(InvalidFormat) as refused:
        await inbox.house.call(inbox.house.ana, "upload_file", **asked)
    assert refused.value.fields["field"] == field
