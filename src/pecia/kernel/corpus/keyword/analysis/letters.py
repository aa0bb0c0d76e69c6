"""Letters that are written in several ways, each as one. Pure.

`compose_match` puts together what stands apart (accents, the parts of Korean syllables, the marks
of kana) and gives characters of half and full width and presentation forms their usual ones.
`fold` takes one letter for another, one for one: places in the text stay.
"""

import re
import unicodedata
from collections.abc import Iterator
from importlib.resources import files

# A letter with accents; half-width kana with its mark; the parts of a Korean syllable; and blocks
# of characters that stand for others: ligatures, Hebrew and Arabic presentation forms, full width,
# radicals of Chinese.
COMPOSED = re.compile(
    "[^\u0300-\u036f\u3099\u309a][\u0300-\u036f\u3099\u309a]+"
    "|[\uff61-\uff9d][\uff9e\uff9f]?"
    "|[\u1100-\u115f][\u1160-\u11a7][\u11a8-\u11ff]?|[\uac00-\ud7a3][\u11a8-\u11c2]"
    "|[\u2f00-\u2fd5\ufb00-\ufdfb\ufe70-\ufefc\uff01-\uffee]"
)
_COMPOSED_SIGN = re.compile(
    "[\u0300-\u036f\u1100-\u11ff\u2f00-\u2fd5\u3099\u309a\ufb00-\ufdfb\ufe70-\ufefc\uff01-\uffee]"
)
_ACCENTS = re.compile("[\u0300-\u036f]")
# As Lucene's normalisers of Arabic and Persian have them.
_ARABIC = {
    **dict.fromkeys("آأإٱ", "ا"),
    **dict.fromkeys("ىیې", "ي"),
    "ک": "ك",
    "ة": "ه",
}
_OTHERS = {
    # In lower case the engine gives it a dot of its own, which cuts the word.
    "İ": "i",
    "ς": "σ",
    "ё": "е",
    "Ё": "Е",
    # Apostrophes that Unicode counts as letters.
    "ʼ": "'",
    "ʻ": "'",
    # The forms at the end of a word in Hebrew.
    "ך": "כ",
    "ם": "מ",
    "ן": "נ",
    "ף": "פ",
    "ץ": "צ",
}


def has_composed(text: str) -> bool:
    """Whether the pattern may be found: its own search takes ten times as long."""
    return _COMPOSED_SIGN.search(text) is not None


def compose_match(found: re.Match[str]) -> str:
    """Compatibility forms are replaced in the blocks of the pattern alone: elsewhere they tell
    things apart, as a superscript does."""
    whole = found.group()

    return unicodedata.normalize("NFKC" if _stands_for_another(whole) else "NFC", whole)


def fold(text: str) -> str:
    return text.translate(_FOLDED) if _FOLDABLE.search(text) else text


def _stands_for_another(whole: str) -> bool:
    return whole[0] >= "\ufb00" or "\u2f00" <= whole[0] <= "\u2fd5"


def _digits() -> Iterator[tuple[str, str]]:
    """Those of every script, as those of ASCII."""
    for code in range(0x80, 0x1_0000):
        letter = chr(code)
        if unicodedata.category(letter) == "Nd":
            yield letter, str(unicodedata.decimal(letter))


def _greek() -> Iterator[tuple[str, str]]:
    """Greek without its accents: capitals have none."""
    for code in (*range(0x370, 0x400), *range(0x1F00, 0x2000)):
        letter = chr(code)
        plain = _ACCENTS.sub("", unicodedata.normalize("NFD", letter))
        if plain.isalpha() and len(plain) == 1 and plain != letter:
            yield letter, "σ" if plain == "ς" else plain


def _han() -> Iterator[tuple[str, str]]:
    """Traditional signs of Chinese as simplified ones: pairs of signs, from ICU's `Hant-Hans`
    (its licence is beside it). Texts in Japanese are changed too, and their queries alike."""
    text = files("pecia.kernel.corpus.keyword").joinpath("han_variants.txt").read_text("utf-8")
    signs = "".join(text.split())
    return zip(signs[::2], signs[1::2], strict=True)


_PAIRS = {**_ARABIC, **_OTHERS, **dict(_digits()), **dict(_greek()), **dict(_han())}
_FOLDED = str.maketrans(_PAIRS)
_FOLDABLE = re.compile(f"[{''.join(map(re.escape, sorted(_PAIRS)))}]")
