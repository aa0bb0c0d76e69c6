"""A rule is stated only where its sentence was cut between two clauses."""

import pytest

from pecia.features.ckf.heuristic.compile import compile_text
from pecia.features.ckf.heuristic.rate import POSSIBLE_BASIS
from pecia.features.ckf.model import CompileOptions, SourceText
from pecia.features.ckf.package.model import Item, Package, text_of

# Beside other rules, so that the sentence counts as one.
RULES = {
    "en": "\n\nYou must keep a log. You must not lend the card. Members shall pay the fee.\n",
    "de": "\n\nDer Halter muss den Hund führen. Der Antrag ist an das Amt zu richten.\n",
    "pt": "\n\nO titular deve assinar o contrato. É proibido emprestar o cartão.\n",
    "es": "\n\nEl titular deberá firmar el contrato. Queda prohibido prestar la tarjeta.\n",
    "fr": "\n\nLe titulaire doit signer le contrat. Il est interdit de prêter la carte.\n",
}
WHOLE = (
    ("principles", "statement"),
    ("atomic_units", "statement"),
    ("anti_patterns", "description"),
)


def compiled(text: str, language: str) -> Package:
    source = SourceText(text + RULES[language], language=language)
    return compile_text(source, CompileOptions())


def stated(package: Package, section: str) -> list[Item]:
    return [it for it in package.items(section) if text_of(it, "source_basis") != POSSIBLE_BASIS]


def pairs(package: Package) -> set[tuple[str, str]]:
    found = {
        (text_of(it, "condition"), text_of(it, "decision"))
        for it in stated(package, "decision_rules")
    }
    return found | {
        (text_of(it, "if"), text_of(it, "then")) for it in stated(package, "if_then_rules")
    }


@pytest.mark.parametrize(
    ("language", "text"),
    [
        ("en", "The terms of this licence apply to the use of the work in a collection."),
        ("en", "Any use of the standard version is governed by this licence."),
        ("en", "All copies of the work, and works based on it, are subject to this licence."),
        ("en", "Every package in the main section must fully comply with the guidelines."),
        ("en", "Blocks above 2 MiB must not go to nodes which only support up to 2 MiB."),
        ("de", "Der Teilnehmer kann den Vertrag bis zum Ablauf des Halbjahres kündigen."),
        ("de", "Die Kündigung muss innerhalb von zwei Wochen erfolgen."),
        ("es", "Asegúrese de que sólo ejecuta los servicios de acceso remoto necesarios."),
        ("pt", "Os dados do computador que se alteram devem ser copiados todos os dias."),
    ],
)
def test_a_sentence_without_two_clauses_is_told_whole(language: str, text: str) -> None:
    package = compiled(text, language)
    assert not [it for it in pairs(package) if it[0] in text and it[1] in text]
    whole = text.rstrip(".")
    assert any(
        text_of(it, field).rstrip(".") == whole
        for section, field in WHOLE
        for it in stated(package, section)
    )


@pytest.mark.parametrize(
    ("language", "text", "condition", "consequence"),
    [
        (
            "de",
            "Falls Sie nicht sicher sind, was Sie getan haben, müssen Sie das Amt fragen.",
            "Sie nicht sicher sind, was Sie getan haben",
            "müssen Sie das Amt fragen",
        ),
        (
            "de",
            "Der Lauf der Zeit beginnt erst, wenn das Amt eine Belehrung über das Recht, den"
            " Widerruf oder die Rücknahme ausgehändigt hat.",
            "das Amt eine Belehrung über das Recht, den Widerruf oder die Rücknahme ausgehändigt"
            " hat",
            "Der Lauf der Zeit beginnt erst",
        ),
        (
            "es",
            "No obstante, si está en mitad de una auditoría, debe hacer copias más frecuentes.",
            "está en mitad de una auditoría",
            "debe hacer copias más frecuentes",
        ),
        (
            "en",
            "You may share copies of the work, provided that you keep the notices.",
            "provided that you keep the notices",
            "You may share copies of the work",
        ),
    ],
)
def test_inner_clauses_do_not_end_a_condition(
    language: str, text: str, condition: str, consequence: str
) -> None:
    assert (condition, consequence) in pairs(compiled(text, language))


@pytest.mark.parametrize(
    "text",
    [
        "If these terms do not permit the use that you plan, you should contact the owner.",
        "You are permitted to use the work, provided that you do not share the changed version.",
        "At your discretion, such copies may or may not include a compiled form of the work.",
        "Packages which do not conform to the guidelines are placed in another section.",
        "By offering only the main section, one can avoid any legal risks.",
    ],
)
def test_a_permission_with_a_negation_is_no_anti_pattern(text: str) -> None:
    found = stated(compiled(text, "en"), "anti_patterns")
    assert not [it for it in found if text_of(it, "description") == text]


@pytest.mark.parametrize(
    "text",
    [
        "Do not share the work, if you do not accept the licence.",
        "If the seal is broken, do not use the part.",
        "You must never lend the key to anyone.",
    ],
)
def test_a_prohibition_stays_an_anti_pattern(text: str) -> None:
    found = stated(compiled(text, "en"), "anti_patterns")
    assert text in [text_of(it, "description") for it in found]


def test_a_condition_that_opens_an_item_is_no_term() -> None:
    text = "# Was zu tun ist\n\n- Wenn Du ein Projekt betreust, musst Du die Daten anpassen.\n"
    text += "- Solltest Du die alte Registry nutzen, musst Du die Namen ändern.\n"
    assert not [
        it
        for it in compiled(text, "de").items("concepts")
        if text_of(it, "label").startswith(("Wenn", "Sollte"))
    ]


@pytest.mark.parametrize(
    ("language", "text", "wrong"),
    [
        ("pt", "O sistema é muito seguro por causa da sua natureza aberta.", "da sua natureza"),
        ("fr", "Il peut arriver que vous ayez ce besoin, vous pouvez donc le faire.", "le faire"),
        ("de", "Dies wird durch die Ausführung des Kommandos geprüft.", "Dies wird"),
    ],
)
def test_a_cause_is_cut_where_a_clause_begins(language: str, text: str, wrong: str) -> None:
    for it in stated(compiled(text, language), "causal_chains"):
        assert not text_of(it, "effect").startswith(wrong)
