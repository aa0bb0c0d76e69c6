"""Definitions by their form: a term that is quoted, marked, listed or announced."""

import pytest

from pecia.features.ckf.heuristic.compile import compile_text
from pecia.features.ckf.heuristic.parse.blocks import BlockShape, parse_blocks
from pecia.features.ckf.model import CompileOptions, SourceText
from pecia.features.ckf.package.codec.codec import parse_package
from pecia.features.ckf.package.slice.slice import slice_package

QUOTED = """# Definitions

"Operator" means the person who runs the ferry.

"Berth" means the place at which the ferry lies at night.

# Duties

The Operator must report every delay within one hour.
"""
INSIDE = """The operator must keep a log. For the purposes
of this section, the term "delay" includes any departure later than planned. The log must be
kept for two years.
"""
LISTED = """## Terminology

The following terms are used:

ferry:
: A boat that carries passengers across the river.

berth:
: The place at which a ferry lies at night.
"""
FRENCH = """Sont considérés, au sens de la présente licence, comme :

- « exploitant » : toute personne qui exploite le bac ;
- « quai » : le lieu où le bac passe la nuit.

L'exploitant doit tenir un carnet.
"""
GERMAN = """§ 2 Begriffsbestimmungen

Im Sinne dieser Ordnung bedeutet

1.  Betreiber jede Person, die eine Fähre betreibt,

2.  Liegeplatz der Ort, an dem eine Fähre nachts liegt.

§ 3 Pflichten

Der Betreiber muss ein Buch führen.
"""
SPANISH = """Artículo 2. Definiciones.

A los efectos de esta norma se entenderá por:

a) «Operador»: la persona que explota el transbordador.

b) «Atraque»: el lugar donde pasa la noche el transbordador.

Artículo 3. Deberes.

El operador deberá llevar un registro.
"""
PORTUGUESE = """# Conceitos

- **Operador:** é a pessoa que explora a balsa.
- **Atracadouro:** é o lugar onde a balsa passa a noite.

# Deveres

O operador deve manter um registro.
"""
NO_TERMS = """# Settings

- Host: example.org
- Port: 8080
- Note: you must restart the server.

# Steps

1. Open the door.
2. Close the door.
"""


@pytest.mark.parametrize(
    ("text", "labels"),
    [
        (QUOTED, ["Operator", "Berth"]),
        (INSIDE, ["delay"]),
        (LISTED, ["ferry", "berth"]),
        (FRENCH, ["exploitant", "quai"]),
        (GERMAN, ["Betreiber", "Liegeplatz"]),
        (SPANISH, ["Operador", "Atraque"]),
        (PORTUGUESE, ["Operador", "Atracadouro"]),
        (NO_TERMS, []),
    ],
    ids=["quoted", "inside", "listed", "french", "german", "spanish", "portuguese", "no_terms"],
)
def test_terms_are_defined_and_what_announces_them_is_not(text: str, labels: list[str]) -> None:
    package = compile_text(SourceText(text), CompileOptions())
    stated = [it["label"] for it in package.items("concepts") if it["source_basis"] != "uncertain"]
    assert stated == labels


def test_a_duty_beside_definitions_stays_a_rule() -> None:
    package = compile_text(SourceText(QUOTED), CompileOptions())
    rules = [it for it in package.items("decision_rules") if it["source_basis"] != "uncertain"]
    assert [it["decision"] for it in rules] == ["The Operator must report every delay"]


@pytest.mark.parametrize("mark", ["1a.", "—", "1.º", "2°", "12b)"])
def test_marks_of_statutes_begin_an_item(mark: str) -> None:
    blocks = parse_blocks(f"The following apply:\n\n{mark} a first case;\n{mark} a second case.\n")
    assert [it.shape for it in blocks].count(BlockShape.ITEM) == 2


HEADED = """# Glossary

This is a list of terms of the port and their meaning.

Harbour master

A person that decides which ferry may leave the quay.

Mooring line

A rope that holds a ferry at the quay.

Tide table

A list of the hours at which the water is high.
"""
NUMBERED = """1. Definitions

1.1 “Operator” means the person who runs the ferry.

1.2 “Berth” means the place at which the ferry lies at night.
"""
TERMED = """# Definitions

(a) The term "operator" means the person who runs the ferry.

(b) The term "berth" means the place at which the ferry lies at night.

C. "Deck" means the floor of a ferry.
"""
COLONS = """# Terminology

The following terms are used:

ferry:

: A boat that carries passengers across the river.

berth:

: The place at which a ferry lies at night.
"""
ENTRIES = """# Glosario

Operador : la persona «responsable» que explota el transbordador.

Atraque : el lugar donde pasa la noche el transbordador.
"""
TITLED = """# Lexique

## Amarrage

L’amarrage est l'action d'attacher un bac au quai.

## Format Bac

Le format Bac, pour « Basic Assembly Chart », est un format qui décrit les bacs.

## Quai (port)

Dans un port, un quai, aussi appelé « appontement », est un mur qui borde l'eau.
"""


@pytest.mark.parametrize(
    ("text", "labels"),
    [
        (TITLED, ["amarrage", "format Bac", "quai"]),
        (HEADED, ["Harbour master", "Mooring line", "Tide table"]),
        (NUMBERED, ["Operator", "Berth"]),
        (ENTRIES, ["Operador", "Atraque"]),
        (TERMED, ["operator", "berth", "Deck"]),
        (COLONS, ["ferry", "berth"]),
    ],
    ids=["titled", "headed", "numbered", "entries", "termed", "colons"],
)
def test_the_label_of_a_term_is_the_term(text: str, labels: list[str]) -> None:
    package = compile_text(SourceText(text), CompileOptions())
    assert [it["label"] for it in package.items("concepts")] == labels


@pytest.mark.parametrize(
    "text",
    [
        "This term is used for ferries that carry cars.",
        "In reference to a ferry: the fact that it carries cars.",
        'Since "the quay" is a public place, passengers may wait there.',
        "Das bedeutet, dass die Regeln für „Fähren“ streng sind und sich selten ändern.",
    ],
)
def test_what_points_back_or_only_names_is_no_term(text: str) -> None:
    package = compile_text(
        SourceText(f"# Ferry\n\nThe ferry runs daily. {text}\n"), CompileOptions()
    )
    assert not package.items("concepts")


def test_a_text_whose_title_says_glossary_defines_its_entries() -> None:
    text = (
        "---\ntitle: Glossary\n---\n\n**HM** - Harbour master, who decides which ferry leaves.\n\n"
        "**Berth** - Where a ferry lies at night.\n\n**Tide** - How high the water stands.\n"
    )
    package = compile_text(SourceText(text), CompileOptions())
    stated = [it["label"] for it in package.items("concepts") if it["source_basis"] != "uncertain"]
    assert stated == ["HM", "Berth", "Tide"]


def test_a_slice_begins_with_the_definition_that_is_asked_for() -> None:
    text = QUOTED + (
        "\nThe Operator must keep the Berth clean. The Operator may close the Berth at night."
        " The Operator must mark the Berth with a lamp.\n"
    )
    package = compile_text(SourceText(text), CompileOptions())
    found = slice_package(package, "What is a berth?", 400)
    sections = [it for it in found.document.splitlines() if it.endswith(":") and it[0] != " "]
    assert found.included[0] == "con_berth"
    assert sections[:2] == ["metadata:", "concepts:"]
    assert next(it["id"] for it in parse_package(found.document).items("concepts")) == "con_berth"
