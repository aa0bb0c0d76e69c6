"""What an upstream tool gave, as a result of ours."""

from base64 import b64encode

import pytest

from pecia.features.hub.core.result import to_result
from pecia.kernel.errors import Json, UpstreamError
from pecia.kernel.tool.model import ForeignContent


def test_an_answer_is_handed_on_as_it_came() -> None:
    data = b64encode(b"\x00\x01").decode()
    blocks: list[dict[str, Json]] = [
        {"type": "text", "text": "hi", "annotations": {"priority": 1}},
        {"type": "image", "data": data, "mimeType": "image/png", "_meta": {"a": None}},
        {"type": "hologram", "x": 2**70},
    ]
    told = {
        "content": blocks,
        "structuredContent": {"a": 1},
        "_meta": {"theirs": 1, "io.modelcontextprotocol/serverInfo": {"name": "s"}},
        "isError": True,
    }
    made = to_result(told, server="s", most_bytes=10_000)
    assert made.content == tuple(ForeignContent(it) for it in blocks)
    assert (made.structured, made.is_error, made.meta) == ({"a": 1}, True, {"theirs": 1})
    assert made.is_foreign


def test_too_much_is_refused_whole() -> None:
    with pytest.raises(UpstreamError) as refused:
        to_result({"content": [{"type": "text", "text": "x" * 100}]}, server="s", most_bytes=100)
    assert refused.value.fields["max"] == 100
