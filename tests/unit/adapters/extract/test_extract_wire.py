"""What a child says is read piece by piece, and nothing is taken that is not an answer."""

import pytest

from pecia.adapters.extract.outline import place_outline
from pecia.adapters.extract.status import Confinement, Status
from pecia.adapters.extract.wire import (
    NAME_LETTERS,
    ORDER_BYTES,
    ORDERS,
    About,
    Ending,
    Flood,
    Frames,
    Garbled,
    Heading,
    Message,
    Order,
    Ready,
    pack,
    pack_orders,
    unpack_orders,
)
from pecia.kernel.text.canonical import RawUnit, UnitKind, canonical_text

MESSAGES: list[Message] = [
    Ready(Confinement(memory=True, network=False, files=True)),
    About("text/plain", "pecia", "1", authors=("ana",), outline=(Heading("One", 1, 1),)),
    RawUnit(1, UnitKind.PAGE, "Grüße 🚲\nand more", "i"),
    RawUnit(2, UnitKind.CUE, "Hi", "0:00:01", 1_000, 2_000),
    Ending(Status.OK, "It was read.", "eng", ("A note.",), (Heading("Two", 2, 2),)),
]


@pytest.mark.parametrize("size", [1, 7, 10_000])
def test_messages_come_through_however_they_are_cut(size: int) -> None:
    stream = b"".join(map(pack, MESSAGES))
    frames = Frames(len(stream))
    pieces = [stream[at : at + size] for at in range(0, len(stream), size)]
    assert [message for piece in pieces for message in frames.feed(piece)] == MESSAGES


def test_a_message_longer_than_allowed_is_a_flood_before_it_is_there() -> None:
    frames = Frames(1_000)
    with pytest.raises(Flood):
        list(frames.feed((2_000).to_bytes(4, "big") + b"..."))


def test_many_small_messages_are_a_flood_too() -> None:
    piece = pack(RawUnit(1, UnitKind.PAGE, "x" * 50))
    frames = Frames(5 * len(piece))
    for _ in range(5):
        list(frames.feed(piece))
    with pytest.raises(Flood):
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
    with pytest.raises(Garbled):
        list(Frames(1_000_000).feed(len(body).to_bytes(4, "big") + body))


def test_half_a_character_in_a_label_is_mended() -> None:
    (found,) = Frames(1_000).feed(pack(RawUnit(1, UnitKind.PAGE, "x", "a\ud800\x00\nb")))
    assert found == RawUnit(1, UnitKind.PAGE, "x", "a\ufffd\ufffd b")


def test_the_longest_orders_fit_one_message() -> None:
    order = Order("\udcff" * NAME_LETTERS, "\U0001f6b2" * NAME_LETTERS, 2**31, 2**31, 2**31)
    orders = [order] * ORDERS
    assert len(pack_orders(orders)) < ORDER_BYTES
    assert unpack_orders(pack_orders(orders)) == orders


def test_each_file_of_a_message_has_a_bound_of_its_own() -> None:
    piece = pack(RawUnit(1, UnitKind.PAGE, "x" * 50))
    frames = Frames(0)
    for _ in range(3):
        frames.allow(len(piece))
        assert len(list(frames.feed(piece))) == 1
    frames.allow(len(piece))
    assert list(frames.feed(piece[:10])) == []
    # What came before its turn counts for it.
    frames.allow(len(piece) - 1)
    with pytest.raises(Flood):
        list(frames.feed(piece[10:]))


def test_a_title_is_placed_at_its_line_or_else_at_the_top_of_its_page() -> None:
    pages = ["Contents\n1 Loads", "1 Loads\nWords.\n2  The long\nbrakes\nWords.", ""]
    whole = canonical_text(
        RawUnit(number, UnitKind.PAGE, text) for number, text in enumerate(pages, 1)
    )
    headings = [
        Heading("Loads", 1, 2),
        Heading("2 The Long Brakes", 1, 2),
        Heading("Unseen", 2, 2),
        Heading("Empty", 1, 3),
        Heading("On no page", 1, 9),
    ]
    second, third = whole.units[1].span.start, whole.units[2].span.start
    assert [(it.start, it.title) for it in place_outline(whole, headings)] == [
        (second, "Loads"),
        (second + len("1 Loads\nWords.\n"), "2 The Long Brakes"),
        (second, "Unseen"),
        (third, "Empty"),
    ]
