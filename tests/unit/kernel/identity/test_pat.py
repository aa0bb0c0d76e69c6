"""The text of a personal access token: what is refused before anyone asks the store."""

from hashlib import sha256

import pytest

from pecia.kernel.errors import AuthRequired
from pecia.kernel.identity import pat

TOKEN = pat.encode(bytes(range(32)))


def test_the_format_is_stable() -> None:
    assert TOKEN == "peciapat_003aUlTJC7tjlCTQj2uNU3MFagCXG9LRKRcwGkBIDlf26D8VD"
    assert len(pat.encode(b"\xff" * 32)) == len(pat.encode(bytes(32))) == len(TOKEN) == 58


def test_a_good_token_gives_its_digest() -> None:
    assert pat.check(TOKEN) == sha256(TOKEN.encode()).digest()


def test_two_mints_differ() -> None:
    assert pat.mint() != pat.mint()


def test_only_our_prefix_is_ours() -> None:
    assert pat.is_pat(TOKEN)
    assert not pat.is_pat("kdblpat_" + TOKEN.removeprefix(pat.PREFIX))
    assert not pat.is_pat("eyJhbGciOiJSUzI1NiJ9.e30.AA")


@pytest.mark.parametrize(
    "text",
    [
        "",
        pat.PREFIX,
        TOKEN[:-1],
        TOKEN + "0",
        TOKEN + "\n",
        f" {TOKEN}",
        TOKEN.upper(),
        TOKEN.replace("peciapat_", "kdblpat_"),
        TOKEN.replace("peciapat_", "peciapat-"),
        f"{TOKEN[:20]}+{TOKEN[21:]}",
        f"{TOKEN[:20]}\u0663{TOKEN[21:]}",
        f"{TOKEN[:20]}\ud800{TOKEN[21:]}",
        TOKEN * 100_000,
    ],
    ids=lambda text: f"{len(text)} characters",
)
def test_what_is_not_a_token_is_refused_without_being_repeated(text: str) -> None:
    with pytest.raises(AuthRequired) as caught:
        pat.check(text)
    assert caught.value.fields == {"challenge": "invalid_token"}
    assert TOKEN[10:30] not in str(caught.value)


def test_the_hint_is_the_last_four_characters_of_a_token_and_of_nothing_else() -> None:
    assert pat.hint(TOKEN) == TOKEN[-4:]
    with pytest.raises(AuthRequired):
        pat.hint("hunter2")


def test_entropy_is_neither_padded_nor_cut() -> None:
    for length in (31, 33):
        with pytest.raises(ValueError, match="32 bytes"):
            pat.encode(bytes(length))
