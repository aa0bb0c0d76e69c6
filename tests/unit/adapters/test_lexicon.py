"""Words of other languages in English, from the package's tables."""

import hashlib

import pecia_polyglot
import pytest

from pecia.adapters.embedding.factory import open_lexicon
from pecia.adapters.embedding.lexicon import (
    Lexicon,
    find_lexicon,
    parse_table,
    translate_words,
)
from pecia.adapters.embedding.settings import EmbedSettings
from pecia.kernel.corpus.keyword.query.parser import TranslatedWord


@pytest.fixture(scope="module")
def lexicon() -> Lexicon:
    return find_lexicon()


def terms(lexicon: Lexicon, text: str) -> set[str]:
    return {term for it in lexicon.translate(text) for term, _ in it.terms}


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
def test_a_question_has_its_words_in_english(
    lexicon: Lexicon, question: str, expected: set[str]
) -> None:
    assert expected <= terms(lexicon, question)


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
def test_a_text_in_english_or_without_words_is_not_translated(lexicon: Lexicon, text: str) -> None:
    assert lexicon.translate(text) == ()


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
    table = {"użytk*": [("user", 1.0)]}
    [found] = translate_words("użytkowniczkami", "pl", table)
    assert [term for term, _ in found.terms] == ["user"]
    # Less surely than a word that was seen.
    assert all(share < 1 for _, share in found.terms)


def test_what_has_no_spaces_is_cut_into_the_longest_known_words() -> None:
    table = {"数据": [("data", 1.0)], "数据库": [("databas", 1.0)], "密码": [("password", 1.0)]}
    found = [*translate_words("数据库密码", "zh", table)]
    assert [it.word for it in found] == ["数据库", "密码"]
