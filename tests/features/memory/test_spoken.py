"""What people say to ask_cipher in several languages, and what they mean by it."""

import pytest

from pecia.features.memory.core.compare.relation import corrects
from pecia.features.memory.core.screen.policy import ScreenPolicy
from pecia.features.memory.core.screen.secret_policy import has_secret, hide_text
from pecia.features.memory.core.utterance import Standing, read_standing, read_utterance
from tests.features.memory.conftest import Memories

REMEMBERED = [
    ("Can you note down that the boiler is new?", "the boiler is new"),
    ("Make a note: the drill belongs to Simon.", "the drill belongs to Simon."),
    ("Recuerda que mi hermana vive en Valencia.", "mi hermana vive en Valencia."),
    ("Por favor, recuerda que el tren sale a las nueve.", "el tren sale a las nueve."),
    ("Retiens que le portail est bleu.", "le portail est bleu."),
    ("Souviens-toi que nous livrons le mardi.", "nous livrons le mardi."),
    ("Merk dir: Der Aufzug ist kaputt.", "Der Aufzug ist kaputt."),
    ("Merk dir, dass der Aufzug kaputt ist.", "der Aufzug kaputt ist."),
    ("Ricorda che la riunione è giovedì.", "la riunione è giovedì."),
    ("Lembra-te de que o comboio parte às nove.", "o comboio parte às nove."),
    ("Onthoud dat de sleutel bij de buren ligt.", "de sleutel bij de buren ligt."),
    ("Запомни, что ключ у соседей.", "ключ у соседей."),
    ("Запам'ятай, що ключ у сусідів.", "ключ у сусідів."),
    ("Zapamiętaj, że lekarz przyjmuje we wtorki.", "lekarz przyjmuje we wtorki."),
    ("Kom ihåg att nyckeln ligger hos grannen.", "nyckeln ligger hos grannen."),
    ("Husk at nøglen ligger hos naboen.", "nøglen ligger hos naboen."),
    ("请记住：我的办公室在三楼。", "我的办公室在三楼。"),
    ("记住会议在星期三。", "会议在星期三。"),
    ("覚えておいて：会議は毎週水曜日です。", "会議は毎週水曜日です。"),
    ("会議は水曜日だと覚えておいてください。", "会議は水曜日だと"),
    ("기억해 줘: 회의는 수요일이야.", "회의는 수요일이야."),
]
FORGOTTEN = [
    ("Olvida que mi hermana vive en Valencia.", "mi hermana vive en Valencia."),
    ("Vergiss, dass der Aufzug kaputt ist.", "der Aufzug kaputt ist."),
    ("Oublie que le portail est bleu.", "le portail est bleu."),
    ("Forget that the gate is blue.", "the gate is blue."),
    ("Zapomnij, że brama jest niebieska.", "brama jest niebieska."),
    ("Glöm att grinden är blå.", "grinden är blå."),
    ("请忘记我的办公室在三楼。", "我的办公室在三楼。"),
    ("会議のことを忘れてください。", "会議"),
]
FACTS = [
    (
        "I live in Bonn. My dog is called Rex. Clara plays the cello.",
        ["I live in Bonn.", "My dog is called Rex.", "Clara plays the cello."],
    ),
    (
        "Please remember that the gate is blue and that Ana owns the billing service.",
        ["the gate is blue", "Ana owns the billing service."],
    ),
    ("Ich wohne in Bonn. Mein Hund heißt Rex.", ["Ich wohne in Bonn.", "Mein Hund heißt Rex."]),
    ("Ana lives in Bonn. Tom lives in Ulm.", ["Ana lives in Bonn.", "Tom lives in Ulm."]),
    # They need what was said before them.
    ("Marta vive a Roma. Lavora in una banca.", ["Marta vive a Roma. Lavora in una banca."]),
    ("My car is a Skoda. The tyres are new.", ["My car is a Skoda. The tyres are new."]),
    ("My dog is called Rex. He is five.", ["My dog is called Rex. He is five."]),
    ("My dentist is Dr. Weiss in Bonn.", ["My dentist is Dr. Weiss in Bonn."]),
    # What points at a question is kept with it.
    (
        "How much should I charge for a mug? We sell them at 18 pounds.",
        ["We sell them at 18 pounds. (Re: How much should I charge for a mug?)"],
    ),
    (
        "Who repairs the loom? Tom repairs looms. He lives in Ulm.",
        ["Tom repairs looms. He lives in Ulm."],
    ),
    ("Where is the drill? I lent it to Kim.", ["I lent it to Kim. (Re: Where is the drill?)"]),
    ("I only drink tea. Never coffee.", ["I only drink tea. Never coffee."]),
    (
        "Mi hija se llama Lucía. Es alérgica a los cacahuetes.",
        ["Mi hija se llama Lucía. Es alérgica a los cacahuetes."],
    ),
]
UNSPACED = [
    ("我的办公室在三楼。", True),
    ("会議は毎週水曜日です。", True),
    ("你好！", False),
    ("我的办公室在哪里？", False),
    ("会議はいつですか。", False),
    ("请帮我写一封信。", False),
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


@pytest.mark.parametrize(("said", "facts"), FACTS)
def test_a_message_of_several_facts_is_a_memory_for_each(said: str, facts: list[str]) -> None:
    assert read_utterance(said).facts == facts


@pytest.mark.parametrize(("said", "is_kept"), UNSPACED)
def test_statements_without_spaces_are_kept(said: str, is_kept: bool) -> None:
    assert bool(read_utterance(said).kept) is is_kept


@pytest.mark.parametrize(
    "text",
    [
        "yes please do that",
        "Okay, go ahead.",
        "Sure, do it then",
        "Please do.",
        "The second one please",
    ],
)
def test_assent_is_not_kept(text: str) -> None:
    assert read_utterance(text).facts == []


@pytest.mark.parametrize(
    ("text", "stands"),
    [
        ("If I ask for a label, make it A6.", True),
        ("If you write to a customer, don't use emojis.", True),
        ("If I paste a stack trace, please explain it first.", True),
        ("If I miss the bus, I walk.", False),
        ("If I were rich, make no mistake, I would move.", False),
        ("If we sell out, the shop closes early.", False),
    ],
)
def test_a_command_under_a_condition_stands(text: str, stands: bool) -> None:
    assert (read_standing(text) is Standing.INSTRUCTION) is stands


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


@pytest.mark.anyio
async def test_a_fact_is_forgotten_without_what_was_said_beside_it(memories: Memories) -> None:
    bo = memories.bo
    await memories.call(bo, "ask_cipher", message="Clara lives in Porto. Tom lives in Ghent.")
    await memories.call(bo, "ask_cipher", message="Forget everything about Clara.")
    assert await memories.listed(bo) == ["Tom lives in Ghent."]
