"""What a child says is read piece by piece, and nothing is taken that is not an answer."""

import pytest

from pecia.adapters.extraction.outline import locate_outline
from pecia.adapters.extraction.status import Confinement, ExtractionStatus
from pecia.adapters.extraction.wire import (
    MAX_NAME_CHARS,
    MAX_REQUEST_BYTES,
    MAX_REQUESTS,
    About,
    Ending,
    FrameDecoder,
    MalformedFrame,
    Message,
    OutlineHeading,
    OutputLimitExceeded,
    ReadRequest,
    Ready,
    pack,
    pack_requests,
    unpack_requests,
)
from pecia.kernel.text.canonical import RawUnit, UnitKind, build_canonical_text

MESSAGES: list[Message] = [
    Ready(Confinement(memory=True, network=False, files=True)),
    About("text/plain", "pecia", "1", authors=("ana",), outline=(OutlineHeading("One", 1, 1),)),
    RawUnit(1, UnitKind.PAGE, "Grüße 🚲\nand more", "i"),
    RawUnit(2, UnitKind.CUE, "Hi", "0:00:01", 1_000, 2_000),
    Ending(
        ExtractionStatus.OK, "It was read.", "eng", ("A note.",), (OutlineHeading("Two", 2, 2),)
    ),
]


@pytest.mark.parametrize("size", [1, 7, 10_000])
def test_messages_come_through_however_they_are_cut(size: int) -> None:
    stream = b"".join(map(pack, MESSAGES))
    frames = FrameDecoder(len(stream))
    pieces = [stream[at : at + size] for at in range(0, len(stream), size)]
    assert [message for piece in pieces for message in frames.feed(piece)] == MESSAGES


def test_a_message_longer_than_allowed_is_a_flood_before_it_is_there() -> None:
    frames = FrameDecoder(1_000)
    with pytest.raises(OutputLimitExceeded):
        list(frames.feed((2_000).to_bytes(4, "big") + b"..."))


def test_many_small_messages_are_a_flood_too() -> None:
    piece = pack(RawUnit(1, UnitKind.PAGE, "x" * 50))
    frames = FrameDecoder(5 * len(piece))
    for _ in range(5):
        list(frames.feed(piece))
    with pytest.raises(OutputLimitExceeded):
        list(frames.feed(piece))


@pytest.mark.parametrize(
    "body",
    [
        b"\xff\xfe",
        b"[]",
        b"7",
        b'["Order", {}]',
        b'["Ending", {"status": "fine", "reason": "x", "language": "", "notes": []}]',
        b'["RawUnit", {"no": -1, "kind": "page", "text": "x", "label": ""}]',
        b'["RawUnit", {"no": 1, "kind": "page", "text": 7, "label": ""}]',
        b"[" * 100_000,
    ],
)
def test_anything_else_is_garbled(body: bytes) -> None:
    with pytest.raises(MalformedFrame):
        list(FrameDecoder(1_000_000).feed(len(body).to_bytes(4, "big") + body))


def test_half_a_character_in_a_label_is_mended() -> None:
    (found,) = FrameDecoder(1_000).feed(pack(RawUnit(1, UnitKind.PAGE, "x", "a\ud800\x00\nb")))
    assert found == RawUnit(1, UnitKind.PAGE, "x", "a\ufffd\ufffd b")


def test_the_longest_orders_fit_one_message() -> None:
    order = ReadRequest(
        "\udcff" * MAX_NAME_CHARS, "\U0001f6b2" * MAX_NAME_CHARS, 2**31, 2**31, 2**31
    )
    orders = [order] * MAX_REQUESTS
    assert len(pack_requests(orders)) < MAX_REQUEST_BYTES
    assert unpack_requests(pack_requests(orders)) == orders


def test_each_file_of_a_message_has_a_bound_of_its_own() -> None:
    piece = pack(RawUnit(1, UnitKind.PAGE, "x" * 50))
    frames = FrameDecoder(0)
    for _ in range(3):
        frames.allow(len(piece))
        assert len(list(frames.feed(piece))) == 1
    frames.allow(len(piece))
    assert list(frames.feed(piece[:10])) == []
    # What came before its turn counts for it.
    frames.allow(len(piece) - 1)
    with pytest.raises(OutputLimitExceeded):
        list(frames.feed(piece[10:]))


def test_a_title_is_placed_at_its_line_or_else_at_the_top_of_its_page() -> None:
    pages = ["Contents\n1 Loads", "1 Loads\nWords.\n2  The long\nbrakes\nWords.", ""]
    whole = build_canonical_text(
        RawUnit(number, UnitKind.PAGE, text) for number, text in enumerate(pages, 1)
    )
    headings = [
        OutlineHeading("Loads", 1, 2),
        OutlineHeading("2 The Long Brakes", 1, 2),
        OutlineHeading("Unseen", 2, 2),
        OutlineHeading("Empty", 1, 3),
        OutlineHeading("On no page", 1, 9),
    ]
    second, third = whole.units[1].span.start, whole.units[2].span.start
    assert [(it.start, it.title) for it in locate_outline(whole, headings)] == [
        (second, "Loads"),
        (second + len("1 Loads\nWords.\n"), "2 The Long Brakes"),
        (second, "Unseen"),
        (third, "Empty"),
    ]
