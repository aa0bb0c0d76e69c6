"""Times, dates, shares and amounts in several ways of writing them."""

import pytest

from pecia.features.memory.core.compare.figures import rewrite_figures
from pecia.features.memory.core.compare.relation import may_say_same, says_same
from tests.features.memory.conftest import Memories

SAME = [
    ("I don't drink coffee after 4 pm.", "After 16:00 I drink no coffee."),
    ("The office opens at 8 am.", "At 8 am the office opens."),
    ("The office opens at 8 a.m.", "The office opens at 08:00."),
    ("The gym opens at six in the morning.", "The gym opens at 6 am."),
    ("The talk starts at half past nine.", "At 9:30 the talk starts."),
    ("The pool opens at noon.", "The pool opens at 12 pm."),
    ("Our deadline is 15 March.", "Our deadline is March 15th."),
    ("Leo was born on 9 June.", "Leo has his birthday on the 9th of June."),
    ("The lease ends on 2025-06-12.", "The lease ends on June 12, 2025."),
    ("We keep logs for thirty days.", "Logs are kept for 30 days."),
    ("The minimum coverage is 80 percent.", "The minimum coverage is 80%."),
    ("The rent is 950 euros.", "The rent is €950."),
    ("Der Laden öffnet um 8 Uhr abends.", "Um 20 Uhr öffnet der Laden."),
    # Orders and spellings.
    ("The kitchen was painted in May.", "In May the kitchen was painted."),
    ("The invoice must be paid within 30 days.", "Within 30 days the invoice has to be paid."),
    ("Marta owns the billing module.", "The billing module belongs to Marta."),
    ("Marta owns the billing module.", "The owner of the billing module is Marta."),
    ("Meine Schwester wohnt in Leipzig.", "In Leipzig wohnt meine Schwester."),
    ("My favourite colour is green.", "Green is my favorite color."),
    ("I eat no meat.", "I do not eat any meat."),
    ("We've got two dogs.", "We have two dogs."),
    ("The release was postponed to 20 May.", "The release has been delayed until 20 May."),
]
OTHER = [
    ("The shop opens at 9:30.", "The shop opens at 9:30 pm."),
    ("The shop opens at 9.", "The shop opens at 9 pm."),
    ("The shop opens at 12 am.", "The shop opens at 12 pm."),
    ("The shop opens at quarter to nine.", "The shop opens at quarter past nine."),
    ("I take two in the morning.", "I take two in the evening."),
    ("The party is on June 12.", "The party is on June 21."),
    ("The party is on 2024-06-12.", "The party is on 2024-12-06."),
    ("The party is on 3/4/2024.", "The party is on 4/3/2024."),
    ("Rates rose 5 percent.", "Rates rose 5 percentage points."),
    ("It costs A$5.", "It costs $5."),
    ("We keep logs for thirty days.", "We keep logs for thirty-one days."),
    ("The owner of Acme is Marta.", "The owner of Marta is Acme."),
    ("Marta belongs to Acme.", "Acme belongs to Marta."),
    ("In Leipzig wohnt meine Schwester.", "In Leipzig wohnt seine Schwester."),
    ("In Rom liebt Ben Ida.", "In Rom liebt Ida Ben."),
    ("En Roma ama el hombre la mujer.", "En Roma ama la mujer el hombre."),
    ("I don't trust any doctor.", "I don't trust the doctor."),
    ("In May the kitchen was painted.", "The kitchen may be painted."),
]


@pytest.mark.parametrize(("one", "other"), SAME)
def test_other_ways_to_write_it_are_the_same_fact(one: str, other: str) -> None:
    assert says_same(one, other)
    assert says_same(other, one)


@pytest.mark.parametrize(("one", "other"), OTHER)
def test_another_figure_is_another_fact_whatever_a_model_says(one: str, other: str) -> None:
    assert not says_same(one, other)
    assert not says_same(other, one)
    assert not may_say_same(one, other)


@pytest.mark.parametrize(
    "text",
    [
        "I take two in the morning.",
        "The party is on 3/4/2024.",
        "It costs A$5 or 5 US$.",
        "The May build is 3 days late.",
        "Half of it is past nine lives.",
        "At 25 pm nothing happens.",
    ],
)
def test_what_has_two_readings_stays_as_it_is(text: str) -> None:
    assert rewrite_figures(text) == text


@pytest.mark.anyio
async def test_a_time_said_in_two_ways_is_one_memory_with_both_wordings(
    memories: Memories,
) -> None:
    texts = ["The office opens at 8 am.", "At 8 am the office opens.", "The office opens at 08:00."]
    made = await memories.remember(memories.bo, *texts)
    assert await memories.listed(memories.bo) == texts[:1]
    found = await memories.call(memories.bo, "memory_history", id=made["memory"][0]["id"])
    assert {it["text"] for it in found["memories"]} == {*texts}
