"""A question that names a day or a month brings what was said, or what is told, of it first."""

from datetime import date

import pytest

from tests.features.memory.conftest import Memories

pytestmark = pytest.mark.anyio

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
