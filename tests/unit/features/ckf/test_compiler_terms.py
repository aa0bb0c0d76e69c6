"""Definitions by their form: a term that is quoted, marked, listed or announced."""

import pytest

from pecia.features.ckf.heuristic.compile import compile_text
from pecia.features.ckf.heuristic.parse.blocks import BlockShape, parse_blocks
from pecia.features.ckf.model import CompileOptions, SourceText

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
