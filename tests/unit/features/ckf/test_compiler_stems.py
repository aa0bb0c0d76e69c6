"""A pattern is tried only where a beginning of a word that it needs occurs: none may be lost."""

import re
from pathlib import Path

import pytest

from pecia.features.ckf.heuristic.cues import forms, signs
from pecia.features.ckf.heuristic.cues.stems import STEM_CHARS, STEMS_BY_SIGN

HERE = Path(__file__).parent
EXAMPLES = HERE.parents[3] / "src" / "pecia" / "features" / "ckf"
PATTERNS = {
    "you": signs.SECOND_PERSON,
    "refers": signs.REFERENCE,
    "means": forms.MEANS,
    "relative": forms.RELATIVE,
    "exempts": forms.EXEMPTS,
    "may_exempt": forms.MAY_EXEMPT,
    "may_happen": forms.MAY_HAPPEN,
    "applies": forms.APPLIES,
    "unless": forms.UNLESS,
    "deontic": forms.DEONTIC,
    "perfect": signs.PERFECT,
    **{name: pattern for name, pattern in forms.FRAMES if name != "turns_first"},
}
# One wording of each language, with no other word that could open the gate.
WORDINGS = {
    "means": ["it denotes x", "x bezeichnet y", "x désigne y", "se llama x", "denomina-se x"],
    "exempts": ["notwithstanding", "ausgenommen", "par dérogation", "se exceptúa", "excetua x"],
    "may_exempt": ["no longer", "auch dann", "même si", "aunque", "embora"],
    "applies": ["applies to", "gilt", "s'applique", "se regirá", "aplica-se"],
    "unless": ["unless", "es sei denn", "à moins", "salvo", "a não ser"],
    "deontic": ["is void", "à la charge", "a cargo de", "obrigação"],
    "releases": ["need not", "befreit", "dispensé de", "exento de", "isento de"],
    "excludes": ["is excluded", "ausgeschlossen", "à l'exclusion", "quedan fuera", "não abrange"],
    "saves": ["apart from x", "abgesehen von", "hormis x", "a reserva de", "ressalvado x"],
    "replaces": ["in lieu of x", "anstelle x", "au lieu de x", "en vez de", "em vez de"],
    "names": ["stands for x", "nennt man", "on appelle x", "se denomina x", "conhecido como"],
    "deems": ["is deemed", "gilt als", "est réputé", "se entenderá", "são havidos"],
    "may_happen": ["may cause", "kann führen", "peut causer", "puede ser", "pode ter"],
}


def test_every_sign_with_stems_has_its_pattern_here() -> None:
    assert PATTERNS.keys() == STEMS_BY_SIGN.keys()


@pytest.mark.parametrize("name", sorted(WORDINGS))
def test_a_wording_of_every_language_passes(name: str) -> None:
    for words in WORDINGS[name]:
        assert PATTERNS[name].search(words), words
        assert _stems(words) & STEMS_BY_SIGN[name], words


@pytest.mark.parametrize("name", sorted(PATTERNS))
def test_no_line_of_our_texts_loses_a_sign(name: str) -> None:
    files = [*HERE.glob("compiler_cases*/*.txt"), *EXAMPLES.glob("examples/*.md")]
    lines = [it for file in files for it in file.read_text("utf-8").splitlines()]
    assert lines
    cased = PATTERNS[name] in (signs.SECOND_PERSON, signs.REFERENCE)
    for line in lines:
        if PATTERNS[name].search(line if cased else line.lower()):
            assert _stems(line.lower()) & STEMS_BY_SIGN[name], line


def _stems(words: str) -> set[str]:
    return {it[:STEM_CHARS] for it in re.findall(r"[^\W\d_]+", words)}
