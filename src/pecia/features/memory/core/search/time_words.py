"""The period that a question names: `in May 2023`, `last spring`, `two weeks ago`. Pure."""

import re
from calendar import monthrange
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from math import exp

from pecia.features.memory.core.compare.vocabulary import LINES, VOCABULARY

# How long after a period it is still spoken of.
DECAY = timedelta(days=7)
MONTHS = (
    *("january", "february", "march", "april", "may", "june", "july", "august", "september"),
    *("october", "november", "december"),
)
_MONTH_NUMBERS = {name[:3]: number for number, name in enumerate(MONTHS, 1)}
# Names of months in other languages, which mean one only with a year: `mars 2024`.
_FOREIGN_NUMBERS = {
    name: number
    for number, names in enumerate(LINES["foreign_months"], 1)
    for name in names.split()
}
SEASONS = {"spring": 3, "summer": 6, "autumn": 9, "fall": 9, "winter": 12}
_NUMBERS = {"a": 1, "an": 1, "one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6}
# `March`, `Mar`, `Mar.`; `Sept` too.
_FOREIGN = "|".join(sorted(_FOREIGN_NUMBERS, key=len, reverse=True))
_MONTH = rf"(?P<month>{_FOREIGN}|{'|'.join(f'{it[:3]}(?:{it[3:]})?' for it in MONTHS)}|sept)\b\.?"
# Seasons whose months are of one year. `Winter 2023` may be either winter.
_SEASON_MONTHS = {
    name: month
    for month, names in zip((3, 6, 9), LINES["seasons"], strict=True)
    for name in names.split()
}
_SEASON = re.compile(
    rf"\b(?P<what>{'|'.join(_SEASON_MONTHS)}),?(?: (?:of|in|de|del|van))?"
    r" (?P<year>(?:19|20)\d\d)\b",
    re.IGNORECASE,
)
_CHRISTMAS = re.compile(
    rf"\b(?:{'|'.join(VOCABULARY['christmas'])})"
    r"(?: (?:of|in|de|del))? (?P<year>(?:19|20)\d\d)\b",
    re.IGNORECASE,
)

_DATE = re.compile(
    rf"\b(?:(?P<day>\d{{1,2}})(?:st|nd|rd|th|er|\.)?(?: (?:of|de))? )?{_MONTH}"
    r"(?: (?P<day2>\d{1,2})(?:st|nd|rd|th)?)?(?:,?(?: del?)? (?P<year>\d{4}))?\b",
    re.IGNORECASE,
)
_ISO = re.compile(r"\b(?P<year>\d{4})-(?P<month>\d\d)(?:-(?P<day>\d\d))?\b")
_YEAR = re.compile(
    r"\b(?:in|during|of|since|en|em|nel|jahr|année|año) (?P<year>(?:19|20)\d\d)\b", re.IGNORECASE
)
_AGO = re.compile(
    r"\b(?P<count>\d{1,3}|a|an|one|two|three|four|five|six) (?P<unit>day|week|month|year)s? ago\b",
    re.IGNORECASE,
)
_LAST = re.compile(
    r"\b(?P<which>last|this|past) (?P<what>week|month|year|spring|summer|autumn|fall|winter)\b",
    re.IGNORECASE,
)
_DAY = re.compile(r"\b(?P<what>today|yesterday)\b", re.IGNORECASE)
_UNIT_DAYS = {"day": 1, "week": 7, "month": 30, "year": 365}


@dataclass(frozen=True, slots=True)
class TimeRange:
    """From `start` until before `end`."""

    start: datetime
    end: datetime

    def contains(self, moment: datetime) -> bool:
        return self.start <= moment < self.end

    def overlaps(self, other: "TimeRange") -> bool:
        return self.start < other.end and other.start < self.end

    def nearness(self, moment: datetime) -> float:
        """1 within the period, less with each day after it: things are told of once they happened.
        0 before it."""
        if self.contains(moment):
            return 1.0
        return exp((self.end - moment) / DECAY) if moment >= self.end else 0.0


def read_period(text: str, now: datetime) -> TimeRange | None:
    """The period that a text names; None where it names none, or a month without a year: nobody
    knows of which."""
    return (
        _read_iso(text)
        or _read_date(text)
        or _read_season(text)
        or _read_ago(text, now)
        or _read_last(text, now)
        or _read_day(text, now)
        or _read_year(text)
    )


def read_dates(text: str) -> list[TimeRange]:
    """The days and months with their year that a text names."""
    return [*_read_iso_dates(text), *_read_written_dates(text)]


def _read_iso(text: str) -> TimeRange | None:
    return next(_read_iso_dates(text), None)


def _read_iso_dates(text: str) -> Iterator[TimeRange]:
    for found in _ISO.finditer(text):
        named = _range(int(found["year"]), int(found["month"]), int(found["day"] or 0))
        if named is not None:
            yield named


def _read_date(text: str) -> TimeRange | None:
    return next(_read_written_dates(text), None)


def _read_written_dates(text: str) -> Iterator[TimeRange]:
    """Not what only looks like a month: the `may` of a question has no year."""
    for found in _DATE.finditer(text):
        if found["year"] is None:
            continue
        name = found["month"].lower()
        month = _FOREIGN_NUMBERS.get(name) or _MONTH_NUMBERS[name[:3]]
        named = _range(int(found["year"]), month, int(found["day"] or found["day2"] or 0))
        if named is not None:
            yield named


def _read_season(text: str) -> TimeRange | None:
    """A season, or the days around Christmas, of a year that is named."""
    if found := _SEASON.search(text):
        start = datetime(int(found["year"]), _SEASON_MONTHS[found["what"].lower()], 1, tzinfo=UTC)
        return TimeRange(start, start + timedelta(days=92))
    if found := _CHRISTMAS.search(text):
        start = datetime(int(found["year"]), 12, 20, tzinfo=UTC)
        return TimeRange(start, start + timedelta(days=12))
    return None


def _read_ago(text: str, now: datetime) -> TimeRange | None:
    found = _AGO.search(text)
    if found is None:
        return None
    word = found["count"].lower()
    count = _NUMBERS.get(word) or int(word)
    unit = _UNIT_DAYS[found["unit"].lower()]
    middle = now - timedelta(days=count * unit)
    return TimeRange(middle - timedelta(days=unit / 2), middle + timedelta(days=unit / 2))


def _read_last(text: str, now: datetime) -> TimeRange | None:
    found = _LAST.search(text)
    if found is None:
        return None
    what, is_last = found["what"].lower(), found["which"].lower() != "this"
    if what in SEASONS:
        return _season(SEASONS[what], now, is_last=is_last)
    days = _UNIT_DAYS[what]
    end = now - timedelta(days=days) if is_last else now + timedelta(days=1)
    # `last week` is said of the seven days before this week and of the last seven alike.
    return TimeRange(end - timedelta(days=days), now if is_last else end)


def _season(month: int, now: datetime, *, is_last: bool) -> TimeRange:
    year = now.year
    start = datetime(year, month, 1, tzinfo=UTC)
    if start > now or (is_last and start + timedelta(days=92) > now):
        start = datetime(year - 1, month, 1, tzinfo=UTC)
    return TimeRange(start, start + timedelta(days=92))


def _read_day(text: str, now: datetime) -> TimeRange | None:
    found = _DAY.search(text)
    if found is None:
        return None
    today = now.replace(hour=0, minute=0, second=0, microsecond=0)
    start = today if found["what"].lower() == "today" else today - timedelta(days=1)
    return TimeRange(start, start + timedelta(days=1))


def _read_year(text: str) -> TimeRange | None:
    found = _YEAR.search(text)
    if found is None:
        return None
    year = int(found["year"])
    return TimeRange(datetime(year, 1, 1, tzinfo=UTC), datetime(year + 1, 1, 1, tzinfo=UTC))


def _range(year: int, month: int, day: int) -> TimeRange | None:
    """A day, or a month where the day is 0; None for one that no calendar has."""
    if not (1 <= month <= 12 and 1 <= year <= 9998 and day <= monthrange(year, month)[1]):
        return None
    start = datetime(year, month, day or 1, tzinfo=UTC)
    length = 1 if day else monthrange(year, month)[1]
    return TimeRange(start, start + timedelta(days=length))
