"""Which code page of one byte a text in Latin letters was written in, by its alphabet. Pure.

Windows-1252 is what most such text is, so that it stands unless another code page makes nearly all
of the accented letters those of one language, and there are enough of them to tell.
"""

import re

WESTERN = "cp1252"

# The letters that a language has besides those of ASCII.
_WESTERN_ALPHABETS = (
    "àâæçéèêëîïôœùûüÿ",
    "áéíñóúüªº",
    "äöüßé",
    "áâãàçéêíóôõúüªº",
    "àèéìíîòóùú",
    "åäöæøéü",
    "áðéíóúýþæö",
    "àçéèíïóòúü",
    "áéèëíïóöúüĳ",
    "äöõüšž",
)
_OTHER_ALPHABETS = {
    "cp1250": (
        "ąćęłńóśźż",
        "áčďéěíňóřšťúůýž",
        "áäčďéíĺľňóôŕšťúýž",
        "áéíóöőúüű",
        "čćđšž",
        "ăâîşţ",
        "äöüßę",
    ),
    "cp1257": ("āčēģīķļņōŗšūž", "ąčęėįšųūž"),
    "cp1254": ("çğıİöşüâîû",),
}
# Western languages mixed in one text, or a name among others, are still likelier than one language
# of another code page that fits almost as well.
_MIXED_WEIGHT = 0.9
_MARGIN = 0.05
_MIN_LETTERS = 6
# Below this, it is no Western text at all.
_MIN_WESTERN_FIT = 0.6
# Accents stand alone or in pairs; letters of another script stand in whole words.
_RUN = re.compile(rb"[\x80-\xff]{3,}")
_HIGH = re.compile(rb"[\x80-\xff]")
# A sign between two letters, such as a raised figure in a word, is a letter of another code page.
_FOREIGN = re.compile(
    r"(?<=[^\W\d_])(?:[^\x00-\x7f\w\s’‘–—…·-]|[¹²³¼½¾])+(?=[^\W\d_])|[³¹£¥](?=[^\W\d_])"
)


def detect_latin(data: bytes) -> str | None:
    """The code page of a text in Latin letters; None when it is another script, or no text."""
    high = len(_HIGH.findall(data))
    in_runs = sum(len(it) for it in _RUN.findall(data))
    if high >= _MIN_LETTERS // 2 and in_runs * 2 > high:
        return None
    western = _western_fit(data)
    best, fit = max(
        ((page, _fit(data, page, it)) for page, all_ in _OTHER_ALPHABETS.items() for it in all_),
        key=lambda it: it[1],
    )
    if fit > western + _MARGIN and high >= _MIN_LETTERS:
        return best
    return WESTERN if western >= _MIN_WESTERN_FIT else None


def _western_fit(data: bytes) -> float:
    mixed = "".join(_WESTERN_ALPHABETS)
    single = max(_fit(data, WESTERN, it) for it in _WESTERN_ALPHABETS)
    return max(single, _MIXED_WEIGHT * _fit(data, WESTERN, mixed))


def _fit(data: bytes, page: str, alphabet: str) -> float:
    """The share of the accented letters that are of the alphabet; 0 for what cannot be decoded."""
    try:
        text = data.decode(page)
    except UnicodeDecodeError:
        return 0.0
    known = {*alphabet, *alphabet.upper()}
    accented = [it for it in text if it > "\x7f" and it.isalpha()]
    fitting = sum(it in known for it in accented)
    strange = len(_FOREIGN.findall(text))
    return fitting / (len(accented) + strange) if accented or strange else 1.0
