"""Times of day, dates, shares and amounts of money in one way of writing each. Pure.

Only where both ways mean the same to everybody: `9:30` is not taken for `9:30 am`, and `3/4/2024`
for no date, since people read those in two ways.
"""

import re

from pecia.features.memory.core.compare.vocabulary import LINES

_I = re.IGNORECASE
_ONE_TO_TWELVE = "one two three four five six seven eight nine ten eleven twelve"
_THIRTY_TO_NINETY = "thirty forty fifty sixty seventy eighty ninety"
_ONES = {word: number for number, word in enumerate(_ONE_TO_TWELVE.split(), start=1)}
_TENS = {word: 10 * number for number, word in enumerate(_THIRTY_TO_NINETY.split(), start=3)}
_HOUR = rf"(?P<hour>\d{{1,2}}|{'|'.join(_ONES)})"
_TENS_WORD = re.compile(rf"\b({'|'.join(_TENS)})(?:[- ]({'|'.join([*_ONES][:9])}))?\b(?!-)", _I)
_PAST = re.compile(rf"\b(?P<part>half|(?:a )?quarter) (?P<side>past|to) {_HOUR}\b", _I)
_CLOCK = re.compile(rf"\b{_HOUR} o['’]clock\b", _I)
_MERIDIEM = re.compile(
    r"\b(?P<hour>\d{1,2})(?:[:.](?P<minute>\d{2}))? ?(?P<half>am|pm|a\.m\.|p\.m\.)(?!\w)", _I
)
# `I take two in the morning` is no time.
_PART_OF_DAY = re.compile(
    r"\b(?P<lead>at|from|until|till|by|after|before|since|around|is|than) "
    rf"{_HOUR}(?::(?P<minute>\d{{2}}))? (?:in the (?P<half>morning|afternoon|evening))\b",
    _I,
)
_UHR = re.compile(
    r"\b(?P<hour>\d{1,2})(?:[:.](?P<minute>\d{2}))? Uhr\b"
    r"(?: (?P<half>morgens|früh|vormittags|nachmittags|abends)\b)?",
    _I,
)
_NOON = re.compile(r"\b(?P<lead>at|from|until|till|by|after|before|since) (?:noon|midday)\b", _I)
_MIDNIGHT = re.compile(r"\b(?P<lead>at|from|until|till|by|after|before|since) midnight\b", _I)
_LATE = frozenset(("pm", "p.m.", "afternoon", "evening", "nachmittags", "abends"))

_MONTH_NAMES = [it.capitalize() for it in " ".join(LINES["months"]).split()]
_SHORT_MONTHS = {it[:3]: it for it in _MONTH_NAMES if it != "May"} | {"Sept": "September"}
_MONTH = rf"(?P<month>{'|'.join([*_MONTH_NAMES, *_SHORT_MONTHS])})\b\.?"
_DAY = r"(?P<day>\d{1,2})"
_DAY_FIRST = re.compile(rf"\b(?:the )?{_DAY}(?:st|nd|rd|th)?(?: of)? {_MONTH}(?!\w)")
_MONTH_FIRST = re.compile(
    rf"\b{_MONTH} (?:the )?{_DAY}(?:st|nd|rd|th)?\b(?![:.,]\d)(?:,(?= \d{{4}}\b))?"
)
_ISO = re.compile(r"\b(\d{4})-(0[1-9]|1[0-2])-(0[1-9]|[12]\d|3[01])\b")

_PERCENT = re.compile(r"(?<=\d) ?(?:percent|per cent|prozent|pour cent|por ciento|%)(?!\w)", _I)
_EUROS = re.compile(r"€ ?(\d[\d.,]*\d|\d)|(\d[\d.,]*\d|\d) ?(?:€|EUR\b|euros?\b)", _I)
_DOLLARS = re.compile(r"(?<![\w$])\$ ?(\d[\d.,]*\d|\d)(?![\w])")


def rewrite_figures(text: str) -> str:
    """The text with its times, dates, shares and amounts written one way."""
    text = _TENS_WORD.sub(_to_number, text)
    text = _PAST.sub(_to_past, text)
    text = _CLOCK.sub(lambda it: f"{_number(it['hour'])}:00", text)
    for pattern in (_MERIDIEM, _PART_OF_DAY, _UHR):
        text = pattern.sub(_to_clock, text)
    text = _NOON.sub(r"\g<lead> 12:00", text)
    text = _MIDNIGHT.sub(r"\g<lead> 00:00", text)
    text = _ISO.sub(lambda it: f"{int(it[3])} {_MONTH_NAMES[int(it[2]) - 1]} {it[1]}", text)
    text = _MONTH_FIRST.sub(_to_date, text)
    text = _DAY_FIRST.sub(_to_date, text)
    text = _PERCENT.sub("%", text)
    text = _EUROS.sub(lambda it: f"{it[1] or it[2]} euros", text)
    return _DOLLARS.sub(r"\1 dollars", text)


def _number(word: str) -> int:
    return _ONES.get(word.lower()) or int(word)


def _to_number(found: re.Match[str]) -> str:
    return str(_TENS[found[1].lower()] + (_ONES[found[2].lower()] if found[2] else 0))


def _to_past(found: re.Match[str]) -> str:
    hour, minute = _number(found["hour"]), 30 if found["part"].lower() == "half" else 15
    if found["side"].lower() == "to":
        if minute == 30:
            return found[0]
        hour, minute = hour - 1 or 12, 45
    return f"{hour}:{minute:02}"


def _to_clock(found: re.Match[str]) -> str:
    """The hour from 0 to 23 with two digits where the half of the day is told; as it stands where
    it is not."""
    hour, half = _number(found["hour"]), (found["half"] or "").lower()
    minute = found["minute"] or "00"
    lead = f"{found['lead']} " if "lead" in found.re.groupindex else ""
    if not half:
        return f"{lead}{hour}:{minute}"
    if not 1 <= hour <= 12:
        return found[0]
    hour = hour % 12 + (12 if half in _LATE else 0)
    return f"{lead}{hour:02}:{minute}"


def _to_date(found: re.Match[str]) -> str:
    month = found["month"]
    return f"{int(found['day'])} {_SHORT_MONTHS.get(month, month)}"
