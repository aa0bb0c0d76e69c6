"""Of two that answer a question the newer comes first; of two facts neither does."""

import pytest

from pecia.features.memory.core.search.version import VersionQuery
from tests.features.memory.conftest import Memories

CHANGED = [
    (
        "We store artifacts in Nexus.",
        "We replaced Nexus with Artifactory.",
        "Where do we store artifacts?",
    ),
    ("The retro is on Thursday.", "The retro was moved to Friday.", "When is the retro?"),
    (
        "I take 20 mg of lisinopril.",
        "My doctor lowered lisinopril to 10 mg.",
        "How much lisinopril do I take?",
    ),
    ("The plumber is Herr Maier.", "We have a new plumber, Frau Stein.", "Who is the plumber?"),
    (
        "The shuttle to Bonn runs every hour.",
        "Starting next week, the shuttle to Bonn runs daily.",
        "How often does the shuttle to Bonn run?",
    ),
    (
        "My eye test is on Monday at 9.",
        "They called: my test is on Friday at 11 instead.",
        "When is my eye test?",
    ),
    (
        "My phone is a Pixel 6.",
        "I bought an iPhone 15 to replace my Pixel 6.",
        "Which phone do I have?",
    ),
    ("Our dentist is Dr. Weiss.", "The new dentist is Dr. Okafor.", "Who is our dentist?"),
    ("I live in Utrecht.", "I've just moved to Antwerp.", "Where do I live?"),
    (
        "The licence of the tool is MIT.",
        "The tool was relicensed under Apache 2.0.",
        "Under which licence is the tool?",
    ),
    (
        "The piano is in the hall.",
        "We carried the piano up to the loft.",
        "Where is the piano?",
    ),
]
APART = [
    ("Tim likes tea.", "Tim moved to Berlin.", "What does Tim like?"),
    (
        "The workshop takes 90 minutes.",
        "The workshop was moved to Lyon.",
        "How long does the workshop take?",
    ),
    ("The workshop is in March.", "The workshop was moved to Lyon.", "When is the workshop?"),
    (
        "My eye test is on Monday at 9.",
        "They called: my blood test is on Friday at 11 instead.",
        "When is my eye test?",
    ),
    ("I like green tea.", "I moved to Berlin last week.", "Which tea do I like?"),
    ("I own a bakery.", "I like tea.", "What do I own?"),
    ("Tim lives in Bonn.", "Tim works in Berlin.", "Where does Tim live?"),
    ("Elias likes jazz.", "Elias no longer likes coffee.", "What music does Elias like?"),
    (
        "The left valve opens at 6.",
        "The right valve opens at 7.",
        "When does the left valve open?",
    ),
    (
        "The port of billing is 6543.",
        "The port of search is now 7654.",
        "What is the port of billing?",
    ),
    ("The retro is with Sandra.", "Sandra switched to Zed.", "Who is the retro with?"),
    ("Version 1.2.3 fixes it.", "Version 1.2.4 fixes it.", "Version 1.2.3 fixes it."),
    (
        "Ana's birthday is on 2 May.",
        "Ana's appointment was moved to 9 May.",
        "When is Ana's birthday?",
    ),
    (
        "Ana: I went to the market on Monday.",
        "Ana: I saw a film on Friday.",
        "When did Ana go to the market?",
    ),
    (
        "Ana painted a lake for her sister in May.",
        "Ana ran a charity race in June.",
        "When did Ana paint a lake for her sister?",
    ),
]


@pytest.mark.parametrize(("old", "new", "question"), CHANGED)
def test_what_answers_with_another_value_comes_first(old: str, new: str, question: str) -> None:
    assert VersionQuery(question).puts_first(new, old)


@pytest.mark.parametrize(("old", "new", "question"), APART)
def test_what_tells_of_something_else_does_not(old: str, new: str, question: str) -> None:
    assert not VersionQuery(question).puts_first(new, old)


# Before, now, a question: said without a word of change, or with a verb that is not on any list.
REWORDED = [
    ("We write specs with Sphinx.", "Specs got ported to Antora.", "What do we write specs with?"),
    ("I use Emacs.", "I've binned Emacs for Kakoune.", "Which editor do I use?"),
    (
        "The probe answers on port 7070.",
        "Probes reply from port 7171.",
        "On which port is the probe?",
    ),
    ("Choir practice is at 7:30.", "Choir practice got shoved to 8.", "When is choir practice?"),
]


@pytest.mark.parametrize(("old", "new", "question"), REWORDED)
def test_a_value_told_in_other_words_comes_first(old: str, new: str, question: str) -> None:
    assert VersionQuery(question).puts_first(new, old)


def test_what_a_model_calls_as_close_comes_first_unless_it_is_of_another() -> None:
    asked = VersionQuery("Who handles refunds?")
    old, new = "Priya handles refunds.", "Refunds are Marcus's job."
    assert asked.puts_first(new, old, is_near=True)
    assert not asked.puts_first("Marcus likes jazz.", old, is_near=True)
    due = VersionQuery("When is the spring report due?")
    spring, autumn = "The spring report is due in May.", "The autumn report is due in October."
    assert not due.puts_first(autumn, spring, is_near=True)


def test_a_question_that_names_the_former_value_is_about_it() -> None:
    old, new = "The retro is with Sandra.", "The retro is with Miguel now."
    assert VersionQuery("Who has the retro?").puts_first(new, old)
    assert not VersionQuery("Is the retro with Sandra?").puts_first(new, old)
    assert VersionQuery("Is the retro with Sandra?").names_only(old, new)


# Before, now, a question, and whether what is said now answers it.
ABROAD = [
    ("Wir wohnen in Kassel.", "Wir sind nach Erfurt umgezogen.", "Wo wohnen wir?", True),
    ("Wir wohnen in Kassel.", "Unser Büro ist nach Erfurt umgezogen.", "Wo wohnen wir?", False),
    ("Jana arbeitet bei Siemens.", "Jana ist nach Köln umgezogen.", "Wo arbeitet Jana?", False),
    ("Sanne woont in Delft.", "Sanne is verhuisd naar Leiden.", "Waar woont Sanne?", True),
    ("Sanne werkt in Delft.", "Sanne is verhuisd naar Leiden.", "Waar werkt Sanne?", False),
    (
        "Notre fournisseur est Duval.",
        "Nous avons changé de fournisseur : c'est Mercier maintenant.",
        "Qui est notre fournisseur ?",
        True,
    ),
    ("Vivo en Sevilla.", "Mi hermana se mudó a Granada.", "¿Dónde vivo?", False),
    ("Мой врач Иванов.", "Мой тренер теперь Петров.", "Кто мой врач?", False),
    ("我住在杭州。", "我搬到苏州了。", "我住在哪里？", True),
    ("我住在杭州。", "我弟弟搬到苏州了。", "我住在哪里？", False),
    (
        "Der Elternabend ist am 12. Mai.",
        "Der Elternabend wurde in die Aula verlegt.",
        "Wann ist der Elternabend?",
        False,
    ),
]


@pytest.mark.parametrize(("old", "new", "question", "is_newer"), ABROAD)
def test_a_change_in_another_language_comes_first_where_it_answers_the_question(
    old: str, new: str, question: str, is_newer: bool
) -> None:
    assert VersionQuery(question).puts_first(new, old) is is_newer


@pytest.mark.anyio
async def test_where_somebody_moved_to_is_where_they_live(memories: Memories) -> None:
    await memories.remember(memories.bo, "Sanne woont in Delft.")
    await memories.remember(memories.bo, "Sanne is verhuisd naar Leiden.")
    question = "Waar woont Sanne?"
    assert await memories.recall(memories.bo, question) == ["Sanne is verhuisd naar Leiden."]
    found = await memories.recall(memories.bo, question, include=["superseded"])
    assert found == ["Sanne is verhuisd naar Leiden.", "Sanne woont in Delft."]
