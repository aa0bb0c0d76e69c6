"""Of two that say the same of the same the newer comes first; of two facts neither does."""

import pytest

from pecia.features.memory.core.compare.relation import replaces, revises

CHANGED = [
    ("We store artifacts in Nexus.", "We replaced Nexus with Artifactory."),
    ("The retro is on Thursday.", "The retro was moved to Friday."),
    ("I take 20 mg of lisinopril.", "My doctor lowered lisinopril to 10 mg."),
    ("The plumber is Herr Maier.", "We have a new plumber, Frau Stein."),
    ("The shuttle to Bonn runs every hour.", "Starting next week, the shuttle to Bonn runs daily."),
    ("My eye test is on Monday at 9.", "They called: my test is on Friday at 11 instead."),
    ("My phone is a Pixel 6.", "I bought an iPhone 15 to replace my Pixel 6."),
]
APART = [
    ("Tim likes tea.", "Tim moved to Berlin."),
    ("The workshop takes 90 minutes.", "The workshop was moved to Lyon."),
    ("My eye test is on Monday at 9.", "They called: my blood test is on Friday at 11 instead."),
    ("I like green tea.", "I moved to Berlin last week."),
]


@pytest.mark.parametrize(("old", "new"), CHANGED)
def test_a_change_names_what_was_so_before_or_what_it_is_about(old: str, new: str) -> None:
    assert replaces(new, old)


@pytest.mark.parametrize(("old", "new"), APART)
def test_a_change_of_something_else_replaces_nothing(old: str, new: str) -> None:
    assert not replaces(new, old)


@pytest.mark.parametrize(
    ("old", "new"),
    [("Our dentist is Dr. Weiss.", "The new dentist is Dr. Okafor."), ("I work here.", "I work.")],
)
def test_whose_it_is_does_not_make_it_another(old: str, new: str) -> None:
    assert revises(new, old)


def test_who_speaks_of_themselves_says_many_things() -> None:
    assert not revises("I like tea.", "I own a bakery.")
