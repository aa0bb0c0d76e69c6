"""One fact in other words is one memory; a close fact is another."""

import pytest

from pecia.features.memory.core.compare.relation import may_say_same, says_same

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
]


@pytest.mark.parametrize(("one", "other"), SAME)
def test_other_words_for_it_are_the_same_fact(one: str, other: str) -> None:
    assert says_same(one, other, None)
    assert says_same(other, one, None)


@pytest.mark.parametrize(("one", "other"), OTHER)
def test_a_close_fact_is_another_whatever_a_model_says(one: str, other: str) -> None:
    assert not says_same(one, other, 0.99)
    assert not says_same(other, one, 0.99)
    assert not may_say_same(one, other)
