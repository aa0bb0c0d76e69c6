"""Personal data in a text, by its shape: numbers of cards, accounts, insurance and phones, mail and
network addresses. Pure.

Numbers count only where their check digits agree, so that order numbers and versions stay as they
are. Names and postal addresses have no shape, and are not looked for.
"""

import re
from collections.abc import Callable, Iterator
from ipaddress import ip_address
from typing import Literal, NamedTuple, TypeAlias

PersonalDataKind: TypeAlias = Literal[
    "credit_card", "iban", "us_ssn", "email_address", "phone_number", "ip_address"
]


class PersonalDataSpan(NamedTuple):
    """Where personal data stands in a text."""

    start: int
    end: int
    kind: PersonalDataKind


_EMAIL = re.compile(
    r"(?<![\w.+-])[\w.+-]{1,64}@(?:[A-Za-z0-9-]{1,63}\.){1,8}[A-Za-z]{2,24}(?![\w-])"
)
_IBAN = re.compile(r"(?<!\w)[A-Za-z]{2}\d{2}(?: ?[A-Za-z0-9]{4}){2,7}(?: ?[A-Za-z0-9]{1,4})?(?!\w)")
_SSN = re.compile(r"(?<![\w-])(?!000|666)\d{3}-(?!00)\d{2}-(?!0000)\d{4}(?![\w-])")
_CARD = re.compile(r"(?<![\w.-])\d(?:[ -]?\d){11,18}(?![\w-]|\.\d)")
_IP = re.compile(
    r"(?<![\w.:])(?:\d{1,3}(?:\.\d{1,3}){3}|(?:[0-9A-Fa-f]{0,4}:){2,7}[0-9A-Fa-f]{0,4})(?![\w:]|\.\d)"
)
# A number that is called so, or that begins as numbers to dial do.
_DIAL = re.compile(
    r"(?<![\w.,:/-])(?:\+\d{1,3}|00\d{2,3}|\(\d{2,5}\)|0\d{2,4}|\d{3})"
    r"(?:[ .-]?\(0?\d{1,4}\))?(?:[ .-]\d{2,5}){1,5}(?:(?: ?x| ext\.? )\d{1,6})?(?![\w-]|[.,:]\d)"
)
_CALLED = re.compile(
    r"(?i)\b(?:phone|call|tel|telephone|mobile|cell|fax|whatsapp|dial|reach|contact|text me|ring|"
    r"desk|answering|number is|telefon|handy|rufnummer|anrufen|tel[ée]fono|m[óo]vil|"
    r"t[ée]l[ée]phone)\b"
)
_CALLED_NUMBER = re.compile(
    r"(?<![\w.,:/-])\+?\(?\d[\d ().-]{5,20}\d(?:(?: ?x| ext\.? )\d{1,6})?(?![\w-]|[.,:]\d)"
)
_OTHER_NUMBERS = re.compile(
    r"(?i)\b(?:licen[cs]e|order|invoice|account|ticket|card|zip|postal|code|version|serial|port)\b"
)
_DATE = re.compile(r"\d{4}-\d{2}-\d{2}|\d{1,2}[.-]\d{1,2}[.-]\d{2,4}")
MIN_PHONE_DIGITS, MAX_PHONE_DIGITS = 7, 15
# How far before a number it may be called one.
CALLED_CHARS = 60


def find_personal_data(text: str) -> list[PersonalDataSpan]:
    """By place; of what overlaps, the first kind that has a proof."""
    found: list[PersonalDataSpan] = []
    for kind, pattern, accepts in _RULES:
        for at in pattern.finditer(text):
            span = PersonalDataSpan(at.start(), at.end(), kind)
            if accepts(at[0]) and not _overlaps(found, span):
                found.append(span)
    for span in _find_phones(text):
        if not _overlaps(found, span):
            found.append(span)
    return sorted(found)


def hide_personal_data(text: str) -> str:
    """The text, with the kind of each in its place. Doing it again changes nothing."""
    for it in reversed(find_personal_data(text)):
        text = f"{text[: it.start]}[{it.kind}]{text[it.end :]}"
    return text


def _find_phones(text: str) -> Iterator[PersonalDataSpan]:
    for pattern in (_DIAL, _CALLED_NUMBER):
        for at in pattern.finditer(text):
            before = text[max(0, at.start() - CALLED_CHARS) : at.start()]
            is_dialled = at[0].startswith(("+", "00", "("))
            if not is_dialled and _OTHER_NUMBERS.search(before):
                continue
            named = _CALLED.search(before) is not None
            if (named or is_dialled or pattern is _DIAL) and _is_phone(at[0], sure=named):
                yield PersonalDataSpan(at.start(), at.end(), "phone_number")


def _is_phone(text: str, *, sure: bool) -> bool:
    count = sum(it.isdigit() for it in text)
    if _DATE.fullmatch(text.strip()):
        return False
    return (MIN_PHONE_DIGITS if sure else 9) <= count <= MAX_PHONE_DIGITS


def _overlaps(found: list[PersonalDataSpan], it: PersonalDataSpan) -> bool:
    return any(at.start < it.end and it.start < at.end for at in found)


def _is_card(text: str) -> bool:
    """Luhn's check digit, and a first digit that cards have."""
    digits = [int(it) for it in text if it.isdigit()]
    if not 12 <= len(digits) <= 19 or digits[0] in (0, 7, 8, 9) or len({*digits}) < 3:
        return False
    doubled = (2 * it - 9 if it > 4 else 2 * it for it in digits[-2::-2])
    return (sum(digits[-1::-2]) + sum(doubled)) % 10 == 0


def _is_iban(text: str) -> bool:
    plain = text.replace(" ", "").upper()
    if not 15 <= len(plain) <= 34:
        return False
    return int("".join(str(int(it, 36)) for it in plain[4:] + plain[:4])) % 97 == 1


def _is_ip(text: str) -> bool:
    try:
        return len(text) > 4 and not ip_address(text).is_loopback
    except ValueError:
        return False


def _accepts(_text: str) -> bool:
    return True


_RULES: tuple[tuple[PersonalDataKind, re.Pattern[str], Callable[[str], bool]], ...] = (
    ("email_address", _EMAIL, _accepts),
    ("iban", _IBAN, _is_iban),
    ("us_ssn", _SSN, _accepts),
    ("ip_address", _IP, _is_ip),
    ("credit_card", _CARD, _is_card),
)
