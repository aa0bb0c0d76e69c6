"""One fact, whichever way round it is said; and what looks like it and is another."""

from itertools import combinations, permutations

import pytest

from pecia.features.memory.core.compare.relation import says_same
from pecia.features.memory.core.frames.frame import share_frame

SAME = [
    ("The kitchen window faces south.", "The window of the kitchen faces south."),
    ("Ken's phone number ends in 88.", "The phone number of Ken ends in 88."),
    ("The blue pot's lid is broken.", "The blue pot has a broken lid."),
    ("Only admins can delete projects.", "Projects can only be deleted by admins."),
    ("Only admins can delete projects.", "Nobody but admins can delete projects."),
    ("Logs older than 30 days are deleted.", "We delete logs that are older than 30 days."),
    ("Rosa swims every morning before work.", "Every morning before work, Rosa goes swimming."),
    ("Ines will visit us in August.", "In August Ines will come to visit us."),
    ("Hana speaks Japanese and Korean.", "Hana speaks Korean and Japanese."),
    ("The report is sent to Nadia every month.", "Nadia gets the report every month."),
    ("Karim bought a Volvo from Lena.", "Lena sold a Volvo to Karim."),
    ("I prefer tabs over spaces.", "I'd rather use tabs than spaces."),
    ("The logs get read every day.", "The logs are read every day."),
    ("The mill refuses orders without a stamp.", "Orders without a stamp are refused by the mill."),
    ("We keep scans in the mill-scans bucket.", "We keep scans in the bucket mill-scans."),
]
OTHER = [
    ("The key in the box is in the car.", "The key in the car is in the box."),
    ("The mill refuses orders without a stamp.", "Orders are refused by the mill with a stamp."),
    ("We keep scans in the mill-scans bucket.", "We keep scans in the bucket mill-plans."),
    ("The parcel was sent to Karl.", "The parcel was received by Karl."),
    ("Admins can only delete projects.", "Only admins can delete projects."),
    ("A cup of tea is on the desk.", "A tea cup is on the desk."),
    ("They sold the house to Ann.", "We sold the house to Ann."),
    ("Karim bought a Volvo from Lena.", "Karim sold a Volvo to Lena."),
    ("Hana speaks Korean and old Japanese.", "Hana speaks Japanese and old Korean."),
    ("Logs older than 30 days are deleted.", "We archive logs that are older than 30 days."),
    ("I prefer tabs over spaces.", "I prefer spaces over tabs."),
    ("The teams cut the costs.", "The costs were cut by the team."),
    ("Ines will visit us in August.", "In August we will visit Ines."),
]
VERBS = (
    ("manages", "managed", "managed", "manage"),
    ("writes", "wrote", "written", "write"),
    ("cuts", "cut", "cut", "cut"),
    ("sends", "sent", "sent", "send"),
    ("sees", "saw", "seen", "see"),
    ("agrees", "agreed", "agreed", "agree"),
)
NAMES = ("Ann", "the clerk", "the old mill")


@pytest.mark.parametrize(("one", "other"), SAME)
def test_one_fact_said_the_other_way_round_is_one(one: str, other: str) -> None:
    assert says_same(one, other)
    assert says_same(other, one)


@pytest.mark.parametrize(("one", "other"), OTHER)
def test_a_fact_of_the_same_words_is_another(one: str, other: str) -> None:
    assert not says_same(one, other)
    assert not says_same(other, one)


@pytest.mark.parametrize("verb", VERBS)
def test_who_whom_when_where_and_whether_are_told_apart_in_frames(
    verb: tuple[str, str, str, str],
) -> None:
    present, past, done, base = verb
    told: list[tuple[str, tuple[str, ...]]] = []
    for who, whom in permutations(NAMES, 2):
        told += [
            (f"{who} {present} {whom}", ("now", who, whom)),
            (f"{whom} is {done} by {who}", ("now", who, whom)),
            (f"{who} {past} {whom}", ("then", who, whom)),
            (f"{whom} was {done} by {who}", ("then", who, whom)),
            (f"{who} does not {base} {whom}", ("not", who, whom)),
            (f"{who} will {base} {whom}", ("later", who, whom)),
            (f"{who} can {base} {whom}", ("can", who, whom)),
            (f"only {who} can {base} {whom}", ("only who", who, whom)),
            (f"{who} can only {base} {whom}", ("only does", who, whom)),
            (f"{who} {present} {whom} in the yard", ("in", who, whom)),
            (f"in the yard {who} {present} {whom}", ("in", who, whom)),
            (f"{who} {present} {whom} on the yard", ("on", who, whom)),
            (f"{whom} is {done}", ("now", whom)),
            (f"{whom} was {done}", ("then", whom)),
        ]
    wrong = [
        (one, other)
        for (one, said), (other, again) in combinations(told, 2)
        if said != again and share_frame(one, other)
    ]
    assert wrong == []
