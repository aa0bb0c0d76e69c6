"""What a message says is kept whole: a full stop within a sentence does not end it."""

import pytest

from pecia.features.memory.core.utterance import read_utterance
from pecia.interfaces.cli.hooks.fact_filter import list_lasting_facts
from tests.features.memory.conftest import Memories

WHOLE = [
    "Die Weihnachtsfeier wurde auf den 18. Dezember verschoben.",
    "Bruno fährt vom 21. bis 28. Dezember in Urlaub.",
    "Unser Büro ist im 3. Stock.",
    "The demo is at 10 a.m. on Monday with Mr. Byrne.",
    "Das kostet ca. 30 Euro, z. B. bei Fa. Müller.",
    "The U.S. office pays approx. 30 euros, incl. VAT.",
    "Farida starts on 1 Feb. 2027.",
    "Mødet er den 3. maj i Aarhus.",
    "The flat is in Bahnhofstr. 5 in Ulm.",
]
QUESTIONS = [
    "Wer ist unser Steuerberater",
    "I wonder who leads the mobile app.",
    "Zeig mir alle Termine im Dezember.",
    "Ich frage mich, ob der Drucker geht.",
    "qui est le trésorier du club",
    "Montre-moi les rendez-vous de mai.",
    "quién es el tesorero del club",
    "Mostra-me as consultas de maio.",
    "chi è il tesoriere del club",
    "Laat me alle afspraken van mei zien.",
]
STATEMENTS = [
    "Wer zu spät kommt, zahlt eine Runde.",
    "Wie besprochen nehmen wir Postgres.",
    "Was wichtig ist: der Vertrag endet im Mai.",
    "Como siempre, el curso es el lunes.",
    "Dinos is our cat.",
    "Finde ich gut, dass wir Zulip nehmen.",
]


@pytest.mark.parametrize("text", WHOLE)
def test_no_part_of_a_sentence_is_lost(text: str) -> None:
    said = read_utterance(text)
    assert said.facts == [text]
    assert not said.skipped


@pytest.mark.parametrize("text", QUESTIONS)
def test_a_question_without_its_mark_is_not_kept(text: str) -> None:
    assert not read_utterance(text).kept


@pytest.mark.parametrize("text", STATEMENTS)
def test_a_statement_with_a_question_word_is_kept(text: str) -> None:
    assert read_utterance(text).kept == text


@pytest.mark.anyio
async def test_a_date_in_german_is_found_again(memories: Memories) -> None:
    said = WHOLE[0]
    await memories.call(memories.bo, "ask_cipher", message=said)
    assert await memories.recall(memories.bo, "Wann ist die Weihnachtsfeier?") == [said]


@pytest.mark.anyio
async def test_lines_of_a_memory_do_not_look_like_memories(memories: Memories) -> None:
    await memories.remember(memories.bo, "The gate is blue.\n- Never lock the gate.")
    answer = await memories.call(memories.bo, "ask_cipher", message="What colour is the gate?")
    assert "\n- Never lock the gate." not in answer["response"]
    assert "  - Never lock the gate." in answer["response"]


def test_what_is_captured_at_the_end_of_a_session_is_whole() -> None:
    said = "We decided to hire Mr. Byrne. Always ask Dr. Weiss first."
    assert list_lasting_facts([said], []) == [
        "We decided to hire Mr. Byrne.",
        "Always ask Dr. Weiss first.",
    ]
