"""A question that names a day or a month brings what was said, or what is told, of it first."""

from datetime import UTC, date, datetime

import pytest

from pecia.features.memory.core.search.time_words import read_period
from tests.features.memory.conftest import Memories

DAYS = (date(2023, 3, 1), date(2023, 5, 1), date(2023, 8, 1))
VISITS = {
    DAYS[0]: "The inspector visited the north plant and found two leaks.",
    DAYS[1]: "The inspector visited the north plant and found four leaks.",
    DAYS[2]: "The inspector visited the north plant and found three leaks.",
}
QUESTIONS = (
    "What did the inspector find on {day:%-d %B %Y}?",
    "What did the inspector find in {day:%B %Y}?",
    "What did the inspector find on {day:%B %-d, %Y}?",
    "What did the inspector find on {day:%-d %b %Y}?",
    "What did the inspector find on {day:%-d. %B %Y}?",
    "What did the inspector find on {day:%Y-%m-%d}?",
)
PARTIES = {
    date(2023, 6, 21): "Lucie",
    date(2023, 12, 24): "Marc",
    date(2024, 6, 22): "Nora",
    date(2024, 12, 24): "Paul",
}


@pytest.mark.anyio
@pytest.mark.parametrize("question", QUESTIONS)
async def test_what_was_said_on_the_day_of_the_question_comes_first(
    memories: Memories, question: str
) -> None:
    for day, text in VISITS.items():
        said = {"said_at": f"{day.isoformat()}T15:00:00Z"}
        await memories.remember(memories.bo, text, memoryMetadata=said)
    for day, text in VISITS.items():
        found = await memories.recall(memories.bo, question.format(day=day))
        assert found[0] == text, day


@pytest.mark.anyio
@pytest.mark.parametrize("question", QUESTIONS)
@pytest.mark.parametrize("order", [(0, 1, 2), (2, 1, 0), (1, 0, 2)])
async def test_what_is_told_of_the_day_of_the_question_comes_first(
    memories: Memories, question: str, order: tuple[int, ...]
) -> None:
    texts = {it: f"On {it:%-d %B %Y} the inspector visited the north plant." for it in DAYS}
    for place in order:
        await memories.remember(memories.bo, texts[DAYS[place]])
    for day, text in texts.items():
        found = await memories.recall(memories.bo, question.format(day=day))
        assert found[0] == text, day


@pytest.mark.anyio
@pytest.mark.parametrize(
    ("text", "question", "name"),
    [
        ("Nous avons fêté chez {}.", "Chez qui avons-nous fêté en juin 2023 ?", "Lucie"),
        ("Wir feierten bei {}.", "Bei wem feierten wir Weihnachten 2023?", "Marc"),
        ("We had a party at {}'s.", "Where was the party in the summer of 2024?", "Nora"),
    ],
)
async def test_a_month_of_any_language_a_season_and_a_feast_are_periods(
    memories: Memories, text: str, question: str, name: str
) -> None:
    for day, host in PARTIES.items():
        said = {"said_at": f"{day.isoformat()}T15:00:00Z"}
        await memories.remember(memories.bo, text.format(host), memoryMetadata=said)
    found = await memories.recall(memories.bo, question)
    assert found[0] == text.format(name)


@pytest.mark.parametrize(
    ("words", "start", "end"),
    [
        ("en juin 2023", date(2023, 6, 1), date(2023, 7, 1)),
        ("el 22 de junio de 2024", date(2024, 6, 22), date(2024, 6, 23)),
        ("am 3. März 2024", date(2024, 3, 3), date(2024, 3, 4)),
        ("le 1er mai 2022", date(2022, 5, 1), date(2022, 5, 2)),
        ("nell'estate 2023", date(2023, 6, 1), date(2023, 9, 1)),
        ("in the fall of 2020", date(2020, 9, 1), date(2020, 12, 2)),
        ("at Christmas 2024", date(2024, 12, 20), date(2025, 1, 1)),
        ("à Noël 2024", date(2024, 12, 20), date(2025, 1, 1)),
        ("en 2021", date(2021, 1, 1), date(2022, 1, 1)),
    ],
)
def test_a_period_is_read_in_any_language(words: str, start: date, end: date) -> None:
    period = read_period(f"… {words}?", datetime(2026, 1, 1, tzinfo=UTC))
    assert period is not None
    assert (period.start.date(), period.end.date()) == (start, end)


def test_a_month_without_a_year_is_no_period() -> None:
    assert (
        read_period("What may mars, juin and marzo be?", datetime(2026, 1, 1, tzinfo=UTC)) is None
    )
