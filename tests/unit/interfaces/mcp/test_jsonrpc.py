"""Bodies as JSON-RPC, without a server."""

from typing import Any

import orjson
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from pecia.interfaces.mcp.errors import error_envelope
from pecia.interfaces.mcp.transport.message import (
    MAX_BATCH,
    get_request_id,
    is_request,
    parse_body,
    parse_message,
)
from pecia.kernel.errors import InvalidRequest, ParseError, PeciaError

JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner),
    max_leaves=12,
)
MEMBERS = st.dictionaries(st.sampled_from(["jsonrpc", "id", "method", "params", "result"]), JSON)


def test_a_request_has_a_method_and_an_id() -> None:
    assert is_request(parse_message({"jsonrpc": "2.0", "id": "a", "method": "ping"}))
    assert not is_request(parse_message({"jsonrpc": "2.0", "method": "ping"}))
    assert not is_request(parse_message({"jsonrpc": "2.0", "id": 1, "result": {}}))


def test_a_batch_has_a_limit() -> None:
    ping = {"jsonrpc": "2.0", "id": 1, "method": "ping"}
    assert len(parse_body(orjson.dumps([ping] * MAX_BATCH))) == MAX_BATCH
    with pytest.raises(InvalidRequest):
        parse_body(orjson.dumps([ping] * (MAX_BATCH + 1)))


@given(st.binary(max_size=200) | JSON.map(orjson.dumps) | MEMBERS.map(orjson.dumps))
@settings(max_examples=200, deadline=None)
def test_any_body_is_a_message_or_refused_with_a_valid_envelope(body: bytes) -> None:
    found, refused = _read(body)
    if refused is None:
        assert isinstance(found, list) or (found and found["jsonrpc"] == "2.0")
        return
    told = orjson.loads(error_envelope(refused, None, modern=False))
    assert told["jsonrpc"] == "2.0"
    assert told["error"]["code"] in (-32700, -32600)
    assert told["error"]["data"]["code"] == refused.code.name


def _read(body: bytes) -> tuple[Any, PeciaError | None]:
    try:
        return parse_body(body), None
    except (ParseError, InvalidRequest) as error:
        return None, error


@given(JSON | MEMBERS)
@example({"id": True})
def test_an_id_to_answer_with_is_a_string_or_an_integer(found: object) -> None:
    given_id = get_request_id(found)
    assert given_id is None or isinstance(given_id, str | int)
    assert not isinstance(given_id, bool)


def test_every_refusal_is_one_of_ours() -> None:
    with pytest.raises(PeciaError):
        parse_message({"jsonrpc": "2.0", "id": 1.5, "method": "ping"})
