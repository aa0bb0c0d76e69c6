"""What people say to ask_cipher in several languages, and what they mean by it."""

import pytest

from pecia.features.memory.core.compare.relation import corrects
from pecia.features.memory.core.secret_policy import ScreenPolicy, has_secret, hide_text
from pecia.features.memory.core.utterance import read_utterance
from tests.features.memory.conftest import Memories

REMEMBERED = [
    ("Recuerda que mi hermana vive en Valencia.", "mi hermana vive en Valencia."),
    ("Por favor, recuerda que el tren sale a las nueve.", "el tren sale a las nueve."),
    ("Retiens que le portail est bleu.", "le portail est bleu."),
    ("Souviens-toi que nous livrons le mardi.", "nous livrons le mardi."),
    ("Merk dir: Der Aufzug ist kaputt.", "Der Aufzug ist kaputt."),
]
FORGOTTEN = [
    ("Olvida que mi hermana vive en Valencia.", "mi hermana vive en Valencia."),
    ("Vergiss, dass der Aufzug kaputt ist.", "der Aufzug kaputt ist."),
    ("Oublie que le portail est bleu.", "le portail est bleu."),
    ("Forget that the gate is blue.", "the gate is blue."),
]
UNCLEAR = ["Forget that.", "Please forget it!", "Vergiss das.", "Olvida eso.", "Oublie ça."]
SECRETS = [
    "The password is hunter2hunter2.",
    "My password for the router is now Tr0ub4dor&3!",
    "The wifi password was changed to Sommer_2026",
    "Das Passwort lautet Geheim!2026.",
    "La contraseña es Perro#1999",
    "Le mot de passe est 'Chat_1984'.",
    "The PIN of the safe is 4711.",
    "Our api key for billing is q7Zr2Lw9XkT4vB6n",
]
NO_SECRETS = [
    "The password is changed every Friday.",
    "The password must have at least 14 characters.",
    "The token is base64 encoded.",
    "The password is 14-character and the token is short-lived.",
    "The secret is kept in 1Password.",
    "The PIN of the safe is known to Ana.",
    "The password is hashed with argon2.",
    "The token is a JWT, signed by Keycloak.",
]


@pytest.mark.parametrize(("said", "kept"), REMEMBERED)
def test_what_follows_remember_is_kept_in_every_language(said: str, kept: str) -> None:
    assert read_utterance(said).kept == kept


@pytest.mark.parametrize(("said", "what"), FORGOTTEN)
def test_what_follows_forget_is_to_be_forgotten(said: str, what: str) -> None:
    assert read_utterance(said).forgotten == what


@pytest.mark.parametrize("said", UNCLEAR)
def test_forget_that_asks_for_what(said: str) -> None:
    found = read_utterance(said)
    assert (found.forgotten, found.kept) == ("", "")
    assert "what to forget" in found.reason


@pytest.mark.parametrize("text", SECRETS)
def test_a_password_in_a_sentence_is_a_secret(text: str) -> None:
    assert has_secret(text)
    hidden = hide_text(text, ScreenPolicy("redact"))
    assert "[redacted]" in hidden
    assert hide_text(hidden, ScreenPolicy("redact")) == hidden
    assert hide_text(text, ScreenPolicy("mark")) == text


@pytest.mark.parametrize("text", NO_SECRETS)
def test_a_sentence_about_passwords_is_none(text: str) -> None:
    assert hide_text(text, ScreenPolicy("redact")) == text


def test_words_of_correction_are_no_part_of_what_is_said() -> None:
    assert corrects(
        "Actually my dentist is now Dr Brandt.", "my dentist is Dr Okafor on Mill Lane."
    )


CORRECTED = [
    ("The limit is 100.", "The limit is now 250."),
    ("The office is in Berlin.", "The office moved to Hamburg."),
    ("The meeting is on Monday.", "The meeting was moved to Friday."),
    ("The lift is working.", "The lift is no longer working."),
    ("The API rate limit is 100 per minute.", "The API rate limit was raised to 300 per minute."),
]
OTHERS = [
    ("The backup runs at 02:00.", "The backup now goes to S3."),
    ("The workshop is in March.", "The workshop was moved to the big hall."),
    ("The invoice service is written in Go.", "The invoice service was migrated to Fly."),
    ("The contract with Lumen costs 400 a month.", "The contract with Lumen was extended to 2028."),
    ("My sister is called Nora.", "My sister is now an architect."),
    ("The train to Delft leaves from platform 3.", "The train to Delft now leaves an hour later."),
]


@pytest.mark.parametrize(("old", "new"), CORRECTED)
def test_a_new_value_of_the_same_corrects(old: str, new: str) -> None:
    assert corrects(new, old)


@pytest.mark.parametrize(("old", "new"), OTHERS)
def test_something_else_of_the_same_corrects_nothing(old: str, new: str) -> None:
    assert not corrects(new, old)


@pytest.mark.anyio
async def test_a_correction_takes_the_place_of_what_it_corrects(memories: Memories) -> None:
    bo = memories.bo
    await memories.call(bo, "ask_cipher", message="Remember that my dentist is Dr Okafor.")
    await memories.call(bo, "ask_cipher", message="Actually my dentist is now Dr Brandt.")
    assert await memories.listed(bo) == ["Actually my dentist is now Dr Brandt."]
    told = await memories.call(bo, "ask_cipher", message="My wifi password is hunter2hunter2.")
    assert "hunter2" not in str(told)
    assert await memories.recall(bo, "wifi password") == ["My wifi password is [redacted]."]
