"""One fact in other words is one memory; a close fact is another."""

import pytest

from pecia.features.memory.core.compare.relation import may_say_same, says_same
from tests.features.memory.conftest import Memories

SAME = [
    ("Paul can't swim.", "Paul is unable to swim."),
    ("The heating is switched off in summer.", "In summer the heating is off."),
    ("I usually get up at six.", "I normally get up at six."),
    ("On Sundays we rebuild the search index.", "The search index is rebuilt on Sundays."),
    ("Each January the gym membership is renewed.", "The gym membership renews each January."),
    ("Greta plays the cello.", "The instrument Greta plays is the cello."),
    ("The recipe needs three eggs.", "Three eggs are needed for the recipe."),
    ("Viktor earns 52,000 a year.", "Viktor's salary is 52,000 a year."),
    ("Tom was born on 9 June.", "9 June is Tom's birthday."),
    ("The frontend is built with Vue 3.", "Vue 3 is used by the frontend."),
    ("Tickets cost 15 euros.", "A ticket costs 15 euros."),
    ("The API key is rotated quarterly.", "Every quarter the API key is rotated."),
    ("Im Keller steht der Server.", "Der Server steht im Keller."),
]
OTHER = [
    ("The backup finished at 03:00.", "The backup finishes at 03:00."),
    ("The warehouse can hold 400 pallets.", "The warehouse holds 400 pallets."),
    ("Customer data is stored in Frankfurt.", "Customer data will be stored in Frankfurt."),
    ("The service will move to Azure.", "The service moved to Azure."),
    ("The cat sleeps on the wardrobe.", "In the wardrobe the cat sleeps."),
    ("Only on Sundays we rebuild the index.", "On Sundays only the index is rebuilt."),
    ("We test in Bonn and deploy in Graz.", "In Graz we test and in Bonn we deploy."),
    ("The key in the box is in the car.", "The key in the car is in the box."),
    ("The meeting was on Tuesday.", "The meeting is on Tuesday."),
    ("Every 6 hours we take 2 samples.", "Every 2 hours we take 6 samples."),
    ("Paul can't swim.", "Paul doesn't swim."),
    ("Ida Lund wrote the novel.", "Ida Lund is writing the novel."),
    ("Meine Schwester wohnt in Leipzig.", "Meine Schwester wohnte in Leipzig."),
    ("Users may edit the archive.", "Users must edit the archive."),
    # One word differs, in whatever frame.
    ("The university owns the park.", "The universe owns the park."),
    ("The employer pays for lunch.", "The employee pays for lunch."),
    ("Die Kantine montags um 11 Uhr öffnet.", "Die Kantine öffnet freitags um 11 Uhr."),
    ("Users can delete their own comments.", "Users can delete comments on their own."),
    # One thing is not several.
    ("Our son is afraid of dogs.", "Our sons are afraid of dogs."),
    ("Ida has a house in Bonn.", "Ida has houses in Bonn."),
    ("My child sleeps.", "My children sleep."),
    ("Le client est malade.", "Les clients sont malades."),
    # Somebody else's.
    ("Her sister lives in Rome.", "His sister lives in Rome."),
    ("He owns two dogs.", "She has two dogs."),
    # Two plain verbs say two things, and so does one of the past.
    ("The boat was built in Kiel.", "The boat is kept in Kiel."),
    ("The boat was built in Kiel.", "The boat is located in Kiel."),
    ("The boat was found in Kiel.", "The boat lies in Kiel."),
    # A plain word before a noun says which one.
    ("The language test is on Monday.", "The test is on Monday."),
    ("The day shift takes 8 hours.", "The shift takes 8 hours."),
]
# A model may call them one fact; the rules do not, however alike a model finds them.
CLOSE = [
    ("Das Haus wurde in Bonn gebaut.", "Das Haus steht in Bonn."),
    ("Grandma Elsie was born in 1941.", "Grandma Elsie was married in 1941."),
    ("Kim is Leo's trainer.", "Leo's trainee is Kim."),
    ("The licensor of Zeta is Omega.", "Zeta's licensee is Omega."),
    ("The internal call is at 9.", "At 9 the international call takes place."),
    ("Anna is a physician.", "The physicist is Anna."),
    ("Anna's best subject is maths.", "Anna's subject is maths."),
]


@pytest.mark.parametrize(("one", "other"), SAME)
def test_other_words_for_it_are_the_same_fact(one: str, other: str) -> None:
    assert says_same(one, other)
    assert says_same(other, one)


@pytest.mark.parametrize(("one", "other"), OTHER)
def test_a_close_fact_is_another_whatever_a_model_says(one: str, other: str) -> None:
    assert not says_same(one, other)
    assert not says_same(other, one)
    assert not may_say_same(one, other)


@pytest.mark.parametrize(("one", "other"), CLOSE)
def test_what_only_looks_alike_is_another_fact(one: str, other: str) -> None:
    assert not says_same(one, other)
    assert not says_same(other, one)


@pytest.mark.anyio
@pytest.mark.parametrize(("one", "other"), [*CLOSE, *OTHER[-4:]])
async def test_two_close_facts_are_two_memories(memories: Memories, one: str, other: str) -> None:
    await memories.remember(memories.bo, one)
    await memories.remember(memories.bo, other)
    assert {*await memories.listed(memories.bo)} == {one, other}
