"""What holds of the words by which a text is found: the quick way and the plain one agree."""

import re
from itertools import pairwise
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from pecia.kernel.corpus.keyword.analysis.scripts import MARKED_SCRIPTS
from pecia.kernel.corpus.keyword.analysis.token_filters import (
    cjk_bigrams,
    split_compounds,
    split_file_name,
    split_name,
)
from tests.soak import SOAK

COUNT = 2_000 if SOAK else 100

MARKED = re.compile(f"[{MARKED_SCRIPTS}]")
TOKEN = re.compile(rf"(?:[^\W_]|{MARKED.pattern})+")
PART = re.compile(rf"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+|(?:[^\W\d_A-Za-z]|(?!\d){MARKED.pattern})+")


def plainly(text: str) -> list[str]:
    """Every word looked at, none remembered."""
    names = [it for it in TOKEN.findall(text) if is_joined(it)]
    return list(dict.fromkeys(it.lower() for name in names for it in PART.findall(name)))


def is_joined(name: str) -> bool:
    name = MARKED.sub("", name)
    if not name or len(name) > 80 or name.isdigit():
        return False
    return not name.isalpha() or bool(re.search("[a-z][A-Z]", name))


PIECES = (
    *("FY2018", "fy2018", "plain", "Plain", "ABC", "camelCase", "HTTPServer", "x1_y2", "a-b2.c3"),
    *(
        "2018",
        "½a",
        "²",
        "日本2国",
        "पत्थर2",
        "नयाPhone",
        "น้ำ1",
        "naïveCase",
        "x" * 90 + "1",
        "a1" * 40,
        "a_b",
        "Ωmega3",
    ),
)
BLANKS = (" ", "\n", "\t", "\u00a0", "\u2028", "\x1c", "\x85", "", ", ")


@settings(max_examples=COUNT, deadline=None)
@given(st.lists(st.one_of(st.sampled_from((*PIECES, *BLANKS)), st.text(max_size=4))))
def test_words_with_a_seam_give_the_parts_that_all_words_looked_at_give(pieces: list[str]) -> None:
    text = "".join(pieces)
    assert split_compounds(text) == plainly(text)


@settings(max_examples=COUNT * 5, deadline=None)
@given(st.text(alphabet="abXY01_- \u2019", max_size=100))
def test_the_parts_of_plain_text_are_those_of_all_its_words(text: str) -> None:
    assert split_compounds(text) == plainly(text)


@settings(max_examples=COUNT * 2, deadline=None)
@given(st.text(alphabet="abXY01_-/.é²日", max_size=12))
def test_a_name_of_one_piece_gives_the_words_that_its_parts_give(name: str) -> None:
    found: list[str] = []
    for word in TOKEN.findall(name):
        whole, *parts = split_name(word).split()
        found += [whole, *parts, *(one + other for one, other in pairwise(parts))]
    assert split_file_name(name) == list(dict.fromkeys(found))


def test_the_parts_of_our_own_guides_are_what_they_were() -> None:
    texts = [it.read_text("utf-8") for it in (Path(__file__).parents[2] / "docs").rglob("*.md")]
    assert any(split_compounds(it) for it in texts)
    assert all(split_compounds(it) == plainly(it) for it in texts)


def test_text_without_such_signs_has_no_grams_and_other_text_has() -> None:
    assert cjk_bigrams("plain text 2018") == ""
    assert cjk_bigrams("a 日本国 b") == "日 本 国 日本 本国"
