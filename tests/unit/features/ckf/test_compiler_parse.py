"""Blocks and sentences keep their exact place, and end where a reader would end them."""

import pytest

from pecia.features.ckf.heuristic.cues.grammar import load_grammar, lowercase_aligned
from pecia.features.ckf.heuristic.cues.kind import CueKind
from pecia.features.ckf.heuristic.extract.passages import split_span
from pecia.features.ckf.heuristic.parse.blocks import BlockShape, parse_blocks
from pecia.features.ckf.heuristic.parse.language import detect_language
from pecia.features.ckf.heuristic.parse.sentences import split_sentences
from pecia.features.ckf.heuristic.parse.text import Sentence, parse_text
from pecia.kernel.text.span import Span


def sentences(text: str) -> list[str]:
    return [it.of(text) for it in split_sentences(text, Span(0, len(text)))]


def lines(text: str, language: str = "en") -> list[Sentence]:
    return parse_text(text, lowercase_aligned(text), load_grammar(language)).lines


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("Start at 0.05 mg. Then wait.", 2),
        ("Ask Dr. Smith and J. Doe. They know.", 2),
        ("See Section 4. Access. It is open.", 2),
        ("Use tools, e.g. A hammer. Or not.", 2),
        ("Look at https://a.b/c.html?x=1. Done.", 2),
        ("Really? Yes! Fine.", 3),
        ("He said “stop.” Then he left.", 2),
        ("Es gilt bis zum 30. September 2026. Danach nicht.", 2),
        ("是的。不是！对吗？", 3),
        ("no capital. follows here", 1),
    ],
)
def test_a_sentence_ends_where_a_reader_ends_it(text: str, count: int) -> None:
    found = sentences(text)
    assert len(found) == count, found
    assert "".join(found).replace(" ", "") == text.replace(" ", "")


def test_a_block_says_what_it_is() -> None:
    prose = "# One\n\nTwo\nlines.\n\n- item\n  goes on\n1. first\n\n"
    text = f"{prose}| a | b |\n\n```\nx\n\ny\n```\nEnd of it.\n"
    found = [(it.shape, it.span.of(text)) for it in parse_blocks(text)]
    assert found == [
        (BlockShape.HEADING, "# One"),
        (BlockShape.PARAGRAPH, "Two\nlines."),
        (BlockShape.ITEM, "- item\n  goes on"),
        (BlockShape.ITEM, "1. first"),
        (BlockShape.ROW, "| a | b |"),
        (BlockShape.CODE, "```\nx\n\ny\n```"),
        (BlockShape.PARAGRAPH, "End of it."),
    ]


def test_the_lines_of_a_block_are_counted_from_one() -> None:
    block = parse_blocks("\n\nFirst.\nStill first.\n\nSecond.")[0]
    assert (block.first_line, block.last_line) == (3, 4)


def test_a_title_speaks_for_the_sentences_under_it() -> None:
    found = lines("# Exceptions\n\nFilms go back after a week.\n\n# Hours\n\nWe open at nine.")
    by_text = {it.text: it.kinds for it in found}
    assert CueKind.EXCEPTION in by_text["Films go back after a week."]
    assert CueKind.EXCEPTION not in by_text["We open at nine."]


def test_a_sentence_that_points_back_continues_the_one_before() -> None:
    found = lines("Guests may enter only when invited. This holds at night. The door is green.")
    assert [CueKind.EXCEPTION in it.kinds for it in found] == [True, True, False]


def test_what_a_text_admits_is_no_rule_under_any_title() -> None:
    admitted = lines("# Exceptions\n\nIt is unclear how long it lasts.")[-1]
    assert CueKind.EXCEPTION not in admitted.kinds


@pytest.mark.parametrize(
    ("language", "text"),
    [
        ("en", "The door must be closed when you leave, and the key is in the box."),
        ("pt", "A porta deve ser fechada quando você sai, e a chave está na caixa."),
        ("es", "La puerta debe cerrarse cuando se sale, y la llave está en la caja."),
        ("fr", "La porte doit être fermée quand on sort, et la clé est dans la boîte."),
        ("de", "Die Tür muss geschlossen werden, wenn man geht, und der Schlüssel ist im Kasten."),
        ("und", "Дверь должна быть закрыта, когда вы уходите, а ключ лежит в коробке."),
        ("und", "ドアは出るときに閉めなければなりません。"),
        ("und", "x1 = foo(bar); y2 := baz[qux]; zed->fred();"),
    ],
)
def test_a_language_is_known_by_its_common_words(language: str, text: str) -> None:
    assert detect_language(text.lower()) == language


def test_an_english_text_with_a_french_word_stays_english() -> None:
    assert detect_language("the résumé of the café owner is on the table, and it is long") == "en"


def test_a_letter_that_grows_in_lower_case_moves_no_other() -> None:
    text = "İİ must not İ"
    assert len(lowercase_aligned(text)) == len(text)
    assert lowercase_aligned(text)[3:11] == "must not"


def test_a_number_is_never_cut_in_two() -> None:
    text = "a" * 95 + "1,234,567.89" + "b" * 50
    found = [it.of(text) for it in split_span(text, Span(0, len(text)), 100)]
    assert "".join(found) == text
    assert sum("1,234,567.89" in it for it in found) == 1


def test_a_label_before_a_sentence_is_its_title_and_the_sentence_stays_a_sentence() -> None:
    label, told, more = lines("Rule 5. A member must pay by noon. Late payers wait outside.")
    assert (label.text, label.title) == ("Rule 5.", True)
    assert (told.text, told.is_statement) == ("A member must pay by noon.", True)
    assert more.is_statement
    assert [it.title for it in lines("Section 1. Fees. Members pay.")] == [True, False]
    assert [it.title for it in lines("Article 5. Right of withdrawal.\n\nIt lasts.")] == [
        True,
        False,
    ]


@pytest.mark.parametrize(
    ("language", "text"),
    [
        ("en", "No visitor may enter the hall."),
        ("en", "Neither side may assign it."),
        ("de", "Kein Gast darf den Saal betreten."),
        ("fr", "Aucun visiteur ne peut entrer."),
        ("es", "Ninguna persona puede entrar."),
        ("pt", "Nenhum visitante pode entrar."),
    ],
)
def test_what_nobody_may_do_is_forbidden(language: str, text: str) -> None:
    reading = parse_text(text, lowercase_aligned(text), load_grammar(language))
    assert CueKind.PROHIBITION in reading.lines[0].kinds


@pytest.mark.parametrize(
    "text",
    ["It is paid at once.", "The form is provided by the office.", "It opened in May."],
)
def test_a_fixed_phrase_is_no_condition_and_no_permission(text: str) -> None:
    (line,) = lines(text)
    assert line.kinds.isdisjoint({CueKind.CONDITION, CueKind.PERMISSION})
