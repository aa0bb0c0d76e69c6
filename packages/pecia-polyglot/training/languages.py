"""The languages that are taught, with the script that a string of each must be written in."""

import re

LATIN = "a-zÀ-ɏḀ-ỿ"
CYRILLIC = "Ѐ-ԯ"
ARABIC = "؀-ۿݐ-ݿﭐ-﷿ﹰ-﻿"

# Code: name, letters of its script.
LANGUAGES: dict[str, tuple[str, str]] = {
    "af": ("Afrikaans", LATIN),
    "ar": ("Arabic", ARABIC),
    "az": ("Azerbaijani", LATIN),
    "be": ("Belarusian", CYRILLIC),
    "bg": ("Bulgarian", CYRILLIC),
    "bn": ("Bengali", "ঀ-৿"),
    "bs": ("Bosnian", LATIN),
    "ca": ("Catalan", LATIN),
    "cs": ("Czech", LATIN),
    "cy": ("Welsh", LATIN),
    "da": ("Danish", LATIN),
    "de": ("German", LATIN),
    "el": ("Greek", "Ͱ-Ͽἀ-῿"),
    "eo": ("Esperanto", LATIN),
    "es": ("Spanish", LATIN),
    "et": ("Estonian", LATIN),
    "eu": ("Basque", LATIN),
    "fa": ("Persian", ARABIC),
    "fi": ("Finnish", LATIN),
    "fr": ("French", LATIN),
    "ga": ("Irish", LATIN),
    "gl": ("Galician", LATIN),
    "gu": ("Gujarati", "઀-૿"),
    "he": ("Hebrew", "֐-׿"),
    "hi": ("Hindi", "ऀ-ॿ"),
    "hr": ("Croatian", LATIN),
    "hu": ("Hungarian", LATIN),
    "hy": ("Armenian", "԰-֏"),
    "id": ("Indonesian", LATIN),
    "is": ("Icelandic", LATIN),
    "it": ("Italian", LATIN),
    "ja": ("Japanese", "぀-ヿ㐀-鿿豈-﫿"),
    "ka": ("Georgian", "Ⴀ-ჿ"),
    "kk": ("Kazakh", CYRILLIC),
    "kn": ("Kannada", "ಀ-೿"),
    "ko": ("Korean", "가-힣ᄀ-ᇿ㐀-鿿"),
    "lt": ("Lithuanian", LATIN),
    "lv": ("Latvian", LATIN),
    "mk": ("Macedonian", CYRILLIC),
    "ml": ("Malayalam", "ഀ-ൿ"),
    "mr": ("Marathi", "ऀ-ॿ"),
    "ms": ("Malay", LATIN),
    "nb": ("Norwegian", LATIN),
    "nl": ("Dutch", LATIN),
    "pa": ("Punjabi", "਀-੿"),
    "pl": ("Polish", LATIN),
    "pt": ("Portuguese", LATIN),
    "ro": ("Romanian", LATIN),
    "ru": ("Russian", CYRILLIC),
    "sk": ("Slovak", LATIN),
    "sl": ("Slovenian", LATIN),
    "sq": ("Albanian", LATIN),
    "sr": ("Serbian", LATIN + CYRILLIC),
    "sv": ("Swedish", LATIN),
    "ta": ("Tamil", "஀-௿"),
    "te": ("Telugu", "ఀ-౿"),
    "th": ("Thai", "฀-๿"),
    "tr": ("Turkish", LATIN),
    "uk": ("Ukrainian", CYRILLIC),
    "ur": ("Urdu", ARABIC),
    "uz": ("Uzbek", LATIN + CYRILLIC),
    "vi": ("Vietnamese", LATIN),
    "zh": ("Chinese", "㐀-鿿豈-﫿"),
}
# Scripts that write a word in a character or two: a text is a third as long as in English.
DENSE = {"zh", "ja", "ko"}
_ALIASES = {"no": "nb", "nn": "nb", "iw": "he", "in": "id"}
# The codes of dictionaries.
THREE_LETTERS = {
    "afr": "af", "ara": "ar", "bul": "bg", "ces": "cs", "cym": "cy", "dan": "da", "deu": "de",
    "ell": "el", "epo": "eo", "fin": "fi", "fra": "fr", "gle": "ga", "hin": "hi", "hrv": "hr",
    "hun": "hu", "ind": "id", "isl": "is", "ita": "it", "jpn": "ja", "lit": "lt", "nld": "nl",
    "nor": "nb", "pol": "pl", "por": "pt", "rus": "ru", "slk": "sk", "slv": "sl", "spa": "es",
    "srp": "sr", "swe": "sv", "tur": "tr",
}  # fmt: skip
_IN_SCRIPT = {code: re.compile(f"[{letters}]", re.I) for code, (_, letters) in LANGUAGES.items()}


def language_of(locale: str) -> str | None:
    """`pt_BR`, `sr@latin`, `de-DE` as the code of a language that is taught."""
    code = re.split(r"[_@.-]", locale)[0].lower()
    code = _ALIASES.get(code, code)
    return code if code in LANGUAGES else None


def letters_in_script(language: str, text: str) -> int:
    return len(_IN_SCRIPT[language].findall(text))
