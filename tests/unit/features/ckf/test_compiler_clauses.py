"""What links sentences, asks or counts is no condition; what is denied is no term."""

import pytest

from pecia.features.ckf.heuristic.compile import compile_text
from pecia.features.ckf.heuristic.cues.grammar import load_grammar, lowercase_aligned
from pecia.features.ckf.heuristic.parse.blocks import BlockShape
from pecia.features.ckf.heuristic.parse.text import ParsedText, parse_text
from pecia.features.ckf.heuristic.rate import MIN_STATED, POSSIBLE_BASIS
from pecia.features.ckf.model import CompileOptions, SourceText
from pecia.features.ckf.package.model import Package, number_of, text_of
from pecia.features.ckf.package.outline import render_outline


def compiled(text: str, language: str = "en") -> Package:
    return compile_text(SourceText(text, language=language), CompileOptions())


def parsed(text: str, language: str = "en") -> ParsedText:
    return parse_text(text, lowercase_aligned(text), load_grammar(language))


def pairs(package: Package) -> list[tuple[str, str]]:
    """Conditions with their consequences, of both sections that have them."""
    return [
        *((text_of(it, "if"), text_of(it, "then")) for it in package.items("if_then_rules")),
        *(
            (text_of(it, "condition"), text_of(it, "decision"))
            for it in package.items("decision_rules")
        ),
    ]


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("In addition, members must pay the fee within 30 days of the notice.", "en"),
        ("Therefore, only staff may open the store.", "en"),
        ("Zum Beispiel darf nur der Halter den Hund führen.", "de"),
        ("Por ejemplo, solo el titular podrá firmar el contrato.", "es"),
    ],
)
def test_a_link_to_the_sentence_before_is_no_condition(text: str, language: str) -> None:
    links = ("in addition", "therefore", "zum beispiel", "por ejemplo")
    for condition, consequence in pairs(compiled(text, language)):
        assert not condition.lower().startswith(links)
        assert consequence.lower() not in links


def test_a_condition_after_a_phrase_keeps_its_consequence() -> None:
    text = "In an election, if two members tie, the chair must decide by lot."
    assert set(pairs(compiled(text))) == {
        ("In an election, if two members tie", "the chair must decide by lot")
    }
    text = "For example, if the licence ends, you must stop all copies."
    assert set(pairs(compiled(text))) == {("the licence ends", "you must stop all copies")}


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("Your supervisor must determine if you need a laptop.", "en"),
        ("The terms must be read as if written in the body of this licence.", "en"),
        ("El técnico debe comprobar si la puerta está cerrada.", "es"),
    ],
)
def test_if_that_asks_or_compares_is_no_condition(text: str, language: str) -> None:
    assert all(" if" not in f" {it[0]}" for it in pairs(compiled(text, language)))
    assert not compiled(text, language).items("if_then_rules")


def test_what_a_licence_provides_is_no_condition() -> None:
    text = "You may not copy the program except as expressly provided under this licence."
    assert not compiled(text).items("if_then_rules")


def test_a_quantity_limits_a_rule_only_with_a_number() -> None:
    counted = compiled("A server must send at least one challenge in every answer.")
    assert not counted.items("decision_rules")
    assert [text_of(it, "statement") for it in counted.items("principles")] == [
        "A server must send at least one challenge in every answer"
    ]
    assert compiled("Drivers must be at least 18 years old.").items("decision_rules")


def test_a_german_verb_frame_is_not_cut() -> None:
    text = "Die Abgabe ist unaufgefordert bis zum Fälligkeitstag an das Amt zu entrichten."
    assert all(it[1] != "Die Abgabe ist unaufgefordert" for it in pairs(compiled(text, "de")))


def test_one_word_is_no_condition() -> None:
    text = "Whenever possible, votes shall be held in public."
    assert ("Whenever possible", "votes shall be held in public") in pairs(compiled(text))


def test_a_title_underlined_with_tildes_opens_no_fence() -> None:
    text = "Install it\n~~~~~~~~~~\n\nUnpack it first.\n\nRemove it\n~~~~~~~~~\n\nAsk us.\n"
    assert [it.shape for it in parsed(text).blocks] == [
        BlockShape.HEADING,
        BlockShape.PARAGRAPH,
        BlockShape.HEADING,
        BlockShape.PARAGRAPH,
    ]


def test_directives_and_their_literal_blocks_are_code() -> None:
    text = "Run this::\n\n    rm all\n\n.. code-block:: sh\n\n   cp a b\n\nThen wait.\n"
    assert [it.shape for it in parsed(text).blocks] == [
        BlockShape.PARAGRAPH,
        BlockShape.CODE,
        BlockShape.CODE,
        BlockShape.CODE,
        BlockShape.PARAGRAPH,
    ]


def test_lines_of_a_box_are_one_paragraph() -> None:
    text = "*****\n*  No use of it is   *\n*  allowed before.    *\n*****\n"
    assert [it.shape for it in parsed(text).blocks] == [BlockShape.PARAGRAPH]


def test_the_outline_shows_a_rule_among_rules_and_not_among_facts() -> None:
    text = "# Leave\n\nThe licence is free.\n\nStaff may take the rest of it in March.\n"
    outline = render_outline(compiled(text), "", "", 900)
    facts = outline.partition("Facts")[2]
    assert "March" in outline
    assert "March" not in facts


def test_a_wrapped_sentence_with_a_colon_is_one_block() -> None:
    text = "Der Dienst hat Kinder. Mit anderen\nWorten: Er lenkt sie.\n"
    assert len(parsed(text, "de").blocks) == 1
    assert len(parsed("Question: who?\nAnswer: we.\n").blocks) == 2


@pytest.mark.parametrize(
    "text",
    [
        "Viele Dienste (z. B. Deployment) laufen immer.",
        "Die Zeit läuft ab dem 1\\. Mai 1976 und endet bald.",
        "Las herramientas (p. ej. Docker) son libres.",
    ],
)
def test_abbreviations_with_spaces_and_escaped_dots_end_no_sentence(text: str) -> None:
    assert len(parsed(text, "es" if "Las" in text else "de").lines) == 1


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("# K\n\nKubernetes no es una plataforma como servicio.", "es"),
        ("# K\n\nOs [controladores](/docs/x) são plugins que interceptam requisições.", "pt"),
    ],
)
def test_a_term_is_neither_denied_nor_a_function_word(text: str, language: str) -> None:
    labels = [text_of(it, "label") for it in compiled(text, language).items("concepts")]
    assert set(labels) <= {"controladores"}


def test_what_is_stated_is_as_sure_as_its_kind_needs() -> None:
    text = "# Fees\n\nMembers must pay by Friday.\n\nA member is a person who has signed.\n"
    for section, item in compiled(text).iter_items():
        confidence = number_of(item, "confidence") or 0.0
        if text_of(item, "source_basis") == POSSIBLE_BASIS:
            assert confidence < 0.5
        elif section in ("principles", "decision_rules"):
            assert confidence >= MIN_STATED["rule"]


@pytest.mark.parametrize(
    ("text", "condition", "decision"),
    [
        (
            "Actually, if the crew is not complete, the ferry must stay at the quay.",
            "the crew is not complete",
            "the ferry must stay at the quay",
        ),
        (
            "Passengers may leave bags on deck, but if it rains, the crew must bring them in.",
            "it rains",
            "the crew must bring them in",
        ),
        (
            "Les passagers peuvent rester sur le pont, mais si le vent se lève, ils doivent"
            " descendre.",
            "le vent se lève",
            "ils doivent descendre",
        ),
        (
            "Fahrgäste dürfen an Deck bleiben, aber wenn es regnet, müssen sie nach unten gehen.",
            "es regnet",
            "müssen sie nach unten gehen",
        ),
    ],
    ids=["adverb", "but", "mais", "aber"],
)
def test_a_condition_belongs_to_the_clause_after_it(
    text: str, condition: str, decision: str
) -> None:
    rules = compile_text(SourceText(f"# Ferry\n\n{text}\n"), CompileOptions())
    pairs = [(it["condition"], it["decision"]) for it in rules.items("decision_rules")]
    assert (condition, decision) in pairs
    assert all(it[1] == decision for it in pairs if it[0] == condition)


def test_a_consequence_is_more_than_one_word() -> None:
    text = "# Ferry\n\nFinally, if you are a pilot you must report to the harbour.\n"
    package = compile_text(SourceText(text), CompileOptions())
    assert all(it["decision"] != "Finally" for it in package.items("decision_rules"))


def test_a_condition_that_goes_on_with_another_duty_is_only_possible() -> None:
    text = (
        "# Ferry\n\nYou should read the board before you leave the quay, and you should tell the"
        " crew what you carry.\n"
    )
    package = compile_text(SourceText(text), CompileOptions())
    stated = [it for it in package.items("decision_rules") if it["source_basis"] != "uncertain"]
    assert not [it for it in stated if "tell the crew" in str(it["condition"])]


@pytest.mark.parametrize(
    ("text", "condition", "decision"),
    [
        (
            "If you swallow more than one, contact a doctor, pharmacist or hospital, as you may"
            " need help.",
            "you swallow more than one",
            "contact a doctor, pharmacist or hospital, as you may need help",
        ),
        (
            "Wenn Sie mehr davon genommen haben, rufen Sie einen Arzt, Apotheker oder die Klinik,"
            " auch wenn Sie nichts spüren dürfen.",
            "Sie mehr davon genommen haben",
            "rufen Sie einen Arzt, Apotheker oder die Klinik, auch wenn Sie nichts spüren dürfen",
        ),
    ],
    ids=["en", "de"],
)
def test_an_instruction_begins_the_consequence(text: str, condition: str, decision: str) -> None:
    package = compile_text(SourceText(f"# Leaflet\n\n{text}\n"), CompileOptions())
    assert (condition, decision) in pairs(package)


@pytest.mark.parametrize(
    "text",
    [
        "Taking the tablet during pregnancy is not recommended.",
        "Your meals should be spread over the day because, if the tablet is taken with fat, the"
        " effects may increase.",
        "If you sell it under another licence you must say that those terms are offered by you"
        " alone, not by the author.",
        "All permits that were granted before the end shall stay valid.",
        "Vor dem Widerruf ist dem Betreiber Gelegenheit zu geben, den Mangel zu beheben.",
        "Auf den Rücktritt sind die §§ 346 bis 348 entsprechend anzuwenden.",
        "Para recibir la tarjeta será preciso entregar la antigua, excepto por robo.",
        "The stamp must show the place where it must stand.",
        "Le nombre des membres ne peut être inférieur à sept si la société est anonyme et ne peut"
        " être inférieur à deux dans les autres cas.",
    ],
)
def test_a_sentence_that_was_not_cut_between_clauses_states_no_pair(text: str) -> None:
    package = compile_text(SourceText(f"# Leaflet\n\n{text}\n"), CompileOptions())
    stated = [
        it
        for section in ("decision_rules", "if_then_rules")
        for it in package.items(section)
        if it["source_basis"] != POSSIBLE_BASIS
    ]
    assert not stated


def test_if_any_is_no_condition() -> None:
    text = "You must keep the notices of the author, if any, in every copy."
    assert all(it[0] != "any" for it in pairs(compiled(text)))


@pytest.mark.parametrize(
    "text",
    [
        "You may change the drawings and you must mark whatever is based upon them.",
        "You must write to every author who has provided an address in the file.",
    ],
)
def test_a_preposition_or_participle_of_the_verb_before_opens_no_condition(text: str) -> None:
    for condition, _ in pairs(compiled(text)):
        assert not condition.startswith(("upon", "them", "provided", "an address"))


@pytest.mark.parametrize(
    ("text", "title"),
    [
        (
            "The River Licence\nVersion 1.2\nCopyright 2007 River\n\n# Preamble\n\nFish.",
            "The River Licence",
        ),
        (
            "Boats that carry more than twelve people need a\nsecond pilot.\n\n# Pilots\n\nFish.",
            "Pilots",
        ),
    ],
)
def test_the_title_is_the_name_above_everything(text: str, title: str) -> None:
    assert text_of(compiled(text).metadata, "source_title") == title
