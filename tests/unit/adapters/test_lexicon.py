"""Words of other languages in English, from the package's tables."""

import hashlib
from pathlib import Path
from threading import Event

import anyio
import pecia_polyglot
import pytest
from anyio.to_thread import run_sync

from pecia.adapters.embedding.factory import open_lexicon
from pecia.adapters.embedding.lexicon import (
    Lexicon,
    find_lexicon,
    parse_table,
    translate_words,
)
from pecia.adapters.embedding.model_files import find_shipped_model
from pecia.adapters.embedding.settings import EmbedSettings
from pecia.kernel.corpus.keyword.query.parser import TranslatedWord

pytestmark = pytest.mark.anyio


@pytest.fixture(scope="module")
def lexicon() -> Lexicon:
    return find_lexicon()


async def terms(lexicon: Lexicon, text: str) -> set[str]:
    return {term for it in await lexicon.translate(text) for term, _ in it.terms}


def test_the_file_is_the_one_that_the_package_describes() -> None:
    held = hashlib.sha256(pecia_polyglot.lexicon_path().read_bytes()).hexdigest()
    assert held == pecia_polyglot.LEXICON_SHA256


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("Wie ändere ich das Passwort der Datenbank?", {"password", "databas"}),
        ("¿Dónde se guarda la contraseña del usuario?", {"password", "user"}),
        ("Где хранится резервная копия базы данных?", {"backup", "copi"}),
        ("Πώς αλλάζω τον κωδικό πρόσβασης του χρήστη;", {"user", "password"}),
        ("كيف يمكن تغيير كلمة المرور للمستخدم؟", {"password"}),
        ("如何更改数据库的密码？", {"databas", "password"}),
        ("データベースのパスワードを変更するには？", {"password", "chang"}),
        ("จะเปลี่ยนรหัสผ่านของฐานข้อมูลได้อย่างไร", {"databas"}),
        ("डेटाबेस का पासवर्ड कैसे बदलें?", {"password"}),
        ("Làm thế nào để đổi mật khẩu của cơ sở dữ liệu?", {"password"}),
        ("Jak zmienić hasło użytkownika bazy danych?", {"password", "user"}),
        ("Veritabanının parolası nasıl değiştirilir?", {"password"}),
    ],
)
async def test_a_question_has_its_words_in_english(
    lexicon: Lexicon, question: str, expected: set[str]
) -> None:
    assert expected <= await terms(lexicon, question)


@pytest.mark.parametrize(
    "text",
    [
        "How do I change the password of the database?",
        "stolen bike",
        "Activation of PPM1D enhances p53 function",
        "SELECT id FROM user",
        "42",
        "",
    ],
)
async def test_a_text_in_english_or_without_words_is_not_translated(
    lexicon: Lexicon, text: str
) -> None:
    assert await lexicon.translate(text) == ()


class HeldFile(type(Path())):
    """A file that is not opened before it is released."""

    asked, released = Event(), Event()

    def __fspath__(self) -> str:
        self.asked.set()
        assert self.released.wait(10), "who would release it was not let run"
        return super().__fspath__()


async def test_other_questions_are_answered_while_a_table_is_read() -> None:
    lexicon = Lexicon(HeldFile(pecia_polyglot.lexicon_path()), find_shipped_model().tokenizer)
    found: set[str] = set()

    async def ask() -> None:
        found.update(await terms(lexicon, "Wie ändere ich das Passwort?"))

    async with anyio.create_task_group() as group:
        group.start_soon(ask)
        await run_sync(HeldFile.asked.wait)
        assert await lexicon.translate("How do I change the password?") == ()
        assert not found
        HeldFile.released.set()
    assert "password" in found


async def test_questions_at_the_same_time_are_translated_as_alone(lexicon: Lexicon) -> None:
    fresh, found = find_lexicon(), dict[str, object]()

    async def ask(text: str) -> None:
        found[text] = await fresh.translate(text)

    questions = ["Wo liegt das Passwort?", "Wer hat die Datenbank?", "Где хранится копия?"]
    async with anyio.create_task_group() as group:
        for it in questions:
            group.start_soon(ask, it)
    assert found == {it: await lexicon.translate(it) for it in questions}


def test_only_the_multilingual_embedder_comes_with_translations() -> None:
    assert open_lexicon(EmbedSettings()) is not None
    assert open_lexicon(EmbedSettings(kind="minilm")) is None
    assert open_lexicon(EmbedSettings(kind="none")) is None


def test_words_keep_their_order_and_unknown_ones_stay() -> None:
    table = parse_table("hasło\tpasswordf\njak")
    assert [*translate_words("jak hasło Pecia hasło", "pl", table)] == [
        TranslatedWord("hasło", (("password", 1.0),)),
        TranslatedWord("pecia", ()),
    ]


def test_a_form_that_was_never_seen_is_known_by_its_beginning() -> None:
    table = {"użytk*": "userf"}
    [found] = translate_words("użytkowniczkami", "pl", table)
    assert [term for term, _ in found.terms] == ["user"]
    # Less surely than a word that was seen.
    assert all(share < 1 for _, share in found.terms)


def test_what_has_no_spaces_is_cut_into_the_longest_known_words() -> None:
    table = {"数据": "dataf", "数据库": "databasf", "密码": "passwordf"}
    found = [*translate_words("数据库密码", "zh", table)]
    assert [it.word for it in found] == ["数据库", "密码"]


def test_a_long_word_does_not_take_the_first_sign_of_the_next() -> None:
    table = {"研究生": "graduatf", "研究": "researchf", "生命": "lifef"}
    assert [it.word for it in translate_words("研究生命", "zh", table)] == ["研究", "生命"]


@pytest.mark.parametrize(
    ("language", "compound", "expected"),
    [
        ("de", "Krankenversicherungsbeiträge", ["krankenversicher", "beitrag"]),
        ("de", "Sicherungsschlüssel", ["sicher", "schlussel"]),
        ("nl", "boekingskaart", ["boeking", "kaart"]),
        ("sv", "försäkringsavgiften", ["forsakring", "avgift"]),
    ],
)
def test_a_compound_that_was_never_seen_is_known_by_its_words(
    language: str, compound: str, expected: list[str]
) -> None:
    words = {
        "krankenversicher": "health insurf",
        "beitrag": "contributf",
        "krank": "illf",
        "sicher": "backupf",
        "schlussel": "keyf",
        "boeking": "bookf",
        "kaart": "cardf",
        "forsakring": "insurf",
        "avgift": "feef",
    }
    found = [*translate_words(compound, language, words)]
    assert [it.word for it in found] == expected
    # Less surely than a word that was seen.
    assert all(share < 1 for it in found for _, share in it.terms)


def test_a_word_of_a_language_without_compounds_and_a_name_stay_whole() -> None:
    table = {"note": "notef", "book": "bookf", "beitrag": "contributf"}
    assert [it.word for it in translate_words("notebook", "fr", table)] == ["notebook"]
    assert [it.word for it in translate_words("Beitragenburg", "de", table)] == ["beitragenburg"]


async def test_a_question_has_the_words_of_its_compounds_in_english(lexicon: Lexicon) -> None:
    found = await terms(lexicon, "Wo trage ich die Datenbankbenutzerrechte ein?")
    assert {"databas", "permiss"} <= found
    assert "password" in await terms(lexicon, "Hur ändrar jag databaslösenordet?")


async def test_capital_letters_of_turkish_are_translated_as_small_ones(lexicon: Lexicon) -> None:
    small = await terms(lexicon, "kullanıcı parolası nasıl değiştirilir")
    assert {"user", "password"} <= small & await terms(
        lexicon, "KULLANICI PAROLASI NASIL DEĞİŞTİRİLİR"
    )
