"""Strings of programs as texts: without placeholders, accelerators and markup, or not at all."""

import re
import unicodedata

from languages import DENSE, LANGUAGES, LATIN, letters_in_script

MAX_CHARS = 1500
_CONTEXT = re.compile(r"^[\w /.-]{1,40}\|(?=\S)")
_CJK_ACCELERATOR = re.compile(r"\s*\([_&~]?[A-Z0-9]\)")
_ACCELERATOR = re.compile(r"(?<!\w)[_&~](?=\w)|(?<=\w)[_&~](?=\w)(?!\w*[_&~.(])")
_MARKUP = re.compile(r"</?[a-zA-Z][^<>]{0,200}>|&[a-z]{2,6};|&#\d+;")
_PLACEHOLDER = re.compile(
    r"%\([^)]*\)[a-z]|%[-+ #0]*\*?\d*(?:\.\d+)?\$?(?:hh|ll|[hlLqjzt])?[a-zA-Z@%]|%\d+|%\{[^}]*\}"
    r"|\$\{[^}]*\}|\$\w+|\{[^{}]{0,40}\}|@\w+@|\[\[?/?\w+\]?\]"
)
_ESCAPE = re.compile(r"\\[ntr\"']")
_ADDRESS = re.compile(r"\S+://\S+|\S+@\S+\.\S+|(?<!\w)/[\w./-]{6,}|-{2}[a-z][\w=-]+")
_SPACE = re.compile(r"\s+")
# Without one of these signs, nothing above has anything to do.
_SIGNS = re.compile(r"[|\\<&(%${@\[_~/]|--")
_EDGE = " \t.:…·*•-–—=|/\\<>,;#"
_WORD = re.compile(r"[^\W\d_]{3,}")
_ASCII_LETTER = re.compile(r"[A-Za-z]")
_LETTER = re.compile(r"[^\W\d_]")


def clean(text: str) -> str:
    if _SIGNS.search(text):
        text = _without_signs(text)
    text = unicodedata.normalize("NFKC", text)
    return _SPACE.sub(" ", text).strip(_EDGE)


def _without_signs(text: str) -> str:
    text = _CONTEXT.sub("", text)
    text = _ESCAPE.sub(" ", _MARKUP.sub(" ", text))
    text = _CJK_ACCELERATOR.sub("", text)
    text = _PLACEHOLDER.sub(" ", text)
    text = _ACCELERATOR.sub("", text)
    return _ADDRESS.sub(" ", text)


def is_english(text: str) -> bool:
    """Mostly Latin letters without accents, and words among them."""
    if not 3 <= len(text) <= MAX_CHARS or not _WORD.search(text):
        return False
    return len(_ASCII_LETTER.findall(text)) >= 0.6 * len(text.replace(" ", ""))


def is_translation(language: str, english: str, text: str) -> bool:
    """In the right script, of a plausible length, and not left in English."""
    if len(text) < 1 or len(text) > MAX_CHARS or text.casefold() == english.casefold():
        return False
    letters = len(_LETTER.findall(text))
    if letters < 0.5 * len(text.replace(" ", "")) or letters == 0:
        return False
    if letters_in_script(language, text) < 0.5 * letters:
        return False
    ratio = len(text) / len(english) * (2.5 if language in DENSE else 1)
    if len(english) > 12 and not 0.35 <= ratio <= 3:
        return False
    return LATIN not in LANGUAGES[language][1] or not _is_left_in_english(english, text)


def _is_left_in_english(english: str, text: str) -> bool:
    theirs = [it.casefold() for it in _WORD.findall(text)]
    ours = {it.casefold() for it in _WORD.findall(english)}
    return len(theirs) >= 2 and sum(it in ours for it in theirs) >= 0.6 * len(theirs)
