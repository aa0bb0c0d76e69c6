"""What an upstream tool gave, as a result of ours."""

from base64 import b64encode

import pytest

from pecia.kernel.errors import PayloadTooLarge
from pecia.kernel.tool.model import Embedded, Link, Media, Text
from pecia.rooms.hub.results import result


def test_every_kind_of_content_comes_through() -> None:
    data = b64encode(b"\x00\x01").decode()
    told = {
        "content": [
            {"type": "text", "text": "hi"},
            {"type": "image", "data": data, "mimeType": "image/png"},
            {"type": "resource_link", "uri": "x://a", "name": "a", "title": "A"},
            {
                "type": "resource",
                "resource": {"uri": "x://b", "text": "b", "mimeType": "text/plain"},
            },
            {"type": "resource", "resource": {"uri": "x://c", "blob": data}},
        ],
        "structuredContent": {"a": 1},
        "_meta": {"theirs": 1, "io.modelcontextprotocol/serverInfo": {"name": "s"}},
        "isError": True,
    }
    made = result(told, server="s", most_bytes=10_000)
    assert made.content == (
        Text("hi"),
        Media(b"\x00\x01", "image/png"),
        Link("x://a", "a", "A"),
        Embedded("x://b", "b", "text/plain"),
        Embedded("x://c", b"\x00\x01"),
    )
    assert (made.structured, made.is_error, made.meta) == ({"a": 1}, True, {"theirs": 1})


def test_a_block_that_nobody_knows_is_shown_as_it_came() -> None:
    made = result({"content": [{"type": "hologram", "x": 1}]}, server="s", most_bytes=1_000)
    assert made.content == (Text('{"type":"hologram","x":1}'),)


def test_too_much_is_refused_whole() -> None:
    with pytest.raises(PayloadTooLarge) as refused:
        result({"content": [{"type": "text", "text": "x" * 100}]}, server="s", most_bytes=100)
    assert refused.value.fields["max"] == 100
