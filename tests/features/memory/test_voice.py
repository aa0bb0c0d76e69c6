"""Who does something and to whom it is done makes two facts of the same words."""

from collections.abc import Iterator
from itertools import combinations, permutations
from typing import TypeAlias

import pytest

from pecia.features.memory.core.compare.relation import may_say_same, says_same
from tests.features.memory.conftest import Memories

OTHER = [
    # What is done to somebody is not what they do.
    ("The guest was served.", "The guest served."),
    ("Ann was given a book.", "Ann gave a book."),
    ("Ann was lent a bike.", "Ann lent a bike."),
    ("Ann is taught maths.", "Ann teaches maths."),
    ("Ann is sent the invoices.", "Ann sends the invoices."),
    ("Visitors are charged 5 euros.", "Visitors charge 5 euros."),
    ("The manager is supported.", "The manager supports."),
    ("The service is monitored.", "The service monitors."),
    ("The proxy is checked every minute.", "The proxy checks every minute."),
    ("We are supplied with milk by Zed.", "We supply Zed with milk."),
    ("I am managed by Zed.", "I manage Zed."),
    ("A table was reserved for us.", "We reserved a table."),
    ("Alerts are sent by the gateway.", "The gateway is sent alerts."),
    # Nor what their own do.
    ("Sven's manager is Agnes.", "Sven manages Agnes."),
    ("Mia's supplier is Zed.", "Mia supplies Zed."),
    ("Kim's teacher is Leo.", "Kim teaches Leo."),
    # Two that do the opposite of each other.
    ("The team owns the module.", "The team belongs to the module."),
    ("The dog scared the cat.", "The dog feared the cat."),
    ("Dogs frighten cats.", "Dogs fear cats."),
    ("Tom works for Ann.", "Tom employs Ann."),
    ("Tom is the employer of Ann.", "Tom works for Ann."),
    ("Ben pays 900 euros.", "Ben costs 900 euros."),
    ("The club pays 30 euros.", "The club charges 30 euros."),
    # The speaker's side.
    ("The team reports to me.", "I report to the team."),
    ("I report to Ann.", "Ann reports to me."),
    # A past that looks like the base form.
    ("Ann cuts the hedge.", "Ann cut the hedge."),
    ("The firm cost the town a park.", "The firm costs the town a park."),
    ("We used Postgres for the ledger.", "We use Postgres for the ledger."),
    # A name, and who called.
    ("The name of our landlord is Mr. Okafor.", "Our landlord called Mr. Okafor."),
    ("We have a landlord named Mr. Okafor.", "Our landlord called Mr. Okafor."),
    ("The name of the default branch is trunk.", "The default branch was named trunk."),
    # How far, and to what.
    ("They raised the rent to 1180 euros.", "The rent was raised by 1,180 euros."),
    # A preposition.
    ("Ann leaves Rome at 9.", "Ann leaves for Rome at 9."),
    ("He runs the shop.", "He runs to the shop."),
    # Related words that say two things.
    ("Uploads are allowed on Mondays.", "Uploads are limited on Mondays."),
    ("My favourite film is Jaws.", "I love the film Jaws."),
    ("The bridge is closed in May.", "The bridge is finished in May."),
    ("Ann finishes at 5.", "Ann closes at 5."),
    # Whose manager, and when.
    ("Ben is the manager of the team.", "Ben's manager is the team."),
    ("The team is managed by Ben.", "The team is the manager of Ben."),
    ("Ben was managed by the team.", "The team is Ben's manager."),
    ("Ben will be managed by the team.", "The manager of Ben is the team."),
    ("Ben is managed by the team in Rome.", "In Rome Ben is managed for the team."),
    # What is over, and whom `no` is about.
    ("Ann used to live in Rome.", "Ann lives in Rome."),
    ("No guest has paid.", "A guest has not paid."),
]
SAME = [
    ("Bruno manages the Lisbon office.", "Bruno is the manager of the Lisbon office."),
    ("Lena is employed by Bosch.", "Lena works at Bosch."),
    ("Every spring the cellar floods.", "Each spring the cellar is flooded."),
    ("The recipe needs three eggs.", "Three eggs are needed for the recipe."),
    ("Ann's employer is Tom.", "Ann works for Tom."),
    ("The wiki is backed up by Tobias.", "Tobias backs up the wiki."),
    ("We hash passwords with Argon2.", "Passwords are hashed with Argon2."),
]


@pytest.mark.parametrize(("one", "other"), OTHER)
def test_who_does_it_makes_another_fact_whatever_a_model_says(one: str, other: str) -> None:
    assert not says_same(one, other)
    assert not says_same(other, one)
    assert not may_say_same(one, other)
    assert not may_say_same(other, one)


@pytest.mark.parametrize(("one", "other"), SAME)
def test_the_passive_of_the_same_is_the_same_fact(one: str, other: str) -> None:
    assert says_same(one, other)
    assert says_same(other, one)


@pytest.mark.anyio
@pytest.mark.parametrize(("one", "other"), OTHER[1::8])
async def test_two_with_other_roles_are_two_memories(
    memories: Memories, one: str, other: str
) -> None:
    await memories.remember(memories.bo, one)
    await memories.remember(memories.bo, other)
    assert {*await memories.listed(memories.bo)} == {one, other}


Told: TypeAlias = tuple[str, str | None, str | None]
NAMES = ("Ann", "Ben", "the team")
VERBS = (
    ("manages", "managed", "managed", "manager"),
    ("teaches", "taught", "taught", "teacher"),
    ("supplies", "supplied", "supplied", "supplier"),
)


def tell(verb: tuple[str, str, str, str]) -> Iterator[tuple[str, Told]]:
    """Sentences with one verb, each with what it says: when, who, whom."""
    present, past, done, doer = verb
    for who, whom in permutations(NAMES, 2):
        yield f"{who} {present} {whom}", ("now", who, whom)
        yield f"{who} {past} {whom}", ("then", who, whom)
        yield f"{who} {present}", ("now", who, None)
        yield f"{whom} is {done} by {who}", ("now", who, whom)
        yield f"{whom} was {done} by {who}", ("then", who, whom)
        yield f"{whom} will be {done} by {who}", ("later", who, whom)
        yield f"{whom} is {done}", ("now", None, whom)
        yield f"{whom} is {done} for {who}", ("now, for", who, whom)
        yield f"{who} is the {doer} of {whom}", ("now", who, whom)
        yield f"{whom}'s {doer} is {who}", ("now", who, whom)
        yield f"the {doer} of {whom} is {who}", ("now", who, whom)


@pytest.mark.parametrize("verb", VERBS)
def test_who_whom_and_when_are_told_apart_in_every_frame(verb: tuple[str, str, str, str]) -> None:
    told = [(f"{it[:1].upper()}{it[1:]}.", said) for it, said in tell(verb)]
    wrong = [
        (one, other)
        for (one, said), (other, again) in combinations(told, 2)
        if said != again and says_same(one, other)
    ]
    assert wrong == []
