"""Personal data in a text, by its shape: numbers of cards, accounts, insurance and phones, mail and
network addresses. Pure.

Numbers count only where their check digits agree, so that order numbers and versions stay as they
are. Names and postal addresses have no shape, and are not looked for.
"""

import re
import unicodedata
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
    r"(?<![\w.+-])[\w.+-]{1,64}@(?:[\w-]{1,63}\.){1,8}"
    r"(?:xn--[A-Za-z0-9-]{1,59}|[^\W\d_]{2,24})(?![\w-])"
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
_HYPHENS = ("\u2010", "\u2011", "\u2012")
MIN_PHONE_DIGITS, MAX_PHONE_DIGITS = 7, 15
# How far before a number it may be called one.
CALLED_CHARS = 60


def find_personal_data(text: str) -> list[PersonalDataSpan]:
    """By place; of what overlaps, the first kind that has a proof.

    The text is searched without its disguise, then as it stands: a sign without width may stand
    within a number, and between two words."""
    if text.isascii():
        return sorted(_find(text))
    plain, places = _undisguise(text)
    found = [
        PersonalDataSpan(places[it.start][0], places[it.end - 1][1], it.kind) for it in _find(plain)
    ]
    found += [it for it in _find(text) if not _overlaps(found, it)]
    return sorted(found)


def _find(text: str) -> list[PersonalDataSpan]:
    found: list[PersonalDataSpan] = []
    for kind, pattern, accepts in _RULES:
        for at in pattern.finditer(text):
            span = PersonalDataSpan(at.start(), at.end(), kind)
            if accepts(at[0]) and not _overlaps(found, span):
                found.append(span)
    for span in _find_phones(text):
        if not _overlaps(found, span):
            found.append(span)
    return found


def _undisguise(text: str) -> tuple[str, list[tuple[int, int]]]:
    """The text in its plain signs (NFKC, one kind of space and hyphen, no accents of their own and
    nothing without width), and from where to where each stands in the text."""
    signs: list[str] = []
    places: list[tuple[int, int]] = []
    start = 0
    while start < len(text):
        end = start + 1
        while end < len(text) and _is_attached(text[end]):
            end += 1
        plain = _to_plain(text[start:end])
        signs.append(plain)
        places += [(start, end)] * len(plain)
        start = end
    return "".join(signs), places


def _to_plain(cluster: str) -> str:
    if len(cluster) == 1 and cluster.isascii():
        return cluster
    if unicodedata.category(cluster[0]) == "Zs":
        return " "
    found = unicodedata.normalize("NFKC", "".join(it for it in cluster if not _is_format(it)))
    found = "".join(it for it in found if not _is_attached(it))
    # An ellipsis is no full stops.
    if len(found) > 1 and not found.isalnum():
        return cluster[0]
    return "-" if found in _HYPHENS else found


def _is_format(sign: str) -> bool:
    return unicodedata.category(sign) == "Cf"


def _is_attached(sign: str) -> bool:
    """Whether a sign belongs to the one before it: an accent, or nothing that is seen."""
    return not sign.isascii() and (_is_format(sign) or unicodedata.category(sign)[0] == "M")


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
    if not 12 <= len(digits) <= 19 or digits[0] in (0, 7, 8, 9):
        return False
    # One digit over and over is a placeholder, and zeros and ones are bits.
    if len({*digits}) < 2 or {*digits} == {0, 1}:
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
