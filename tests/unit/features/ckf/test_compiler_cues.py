"""The cue lists hold grammar: nothing in them comes from a text that they are measured on."""

import json
import re
import sys
from pathlib import Path

import pytest

from pecia.features.ckf.heuristic.cues.grammar import LANGUAGES, load_grammar, lowercase_aligned
from pecia.features.ckf.heuristic.cues.kind import CueKind

PUBLIC_CASES = Path(__file__).parents[5] / "shared" / "data" / "ckf-composition"
HERE = Path(__file__).parent

# Every word of an English cue that may also stand in a case, by what it is in grammar. A cue with
# a word outside this list that a case contains is a cue written for the case.
_GRAMMAR = """
a an the one no none not nor never only other such same each any all both most best many

must shall should may might can cannot will would ought do does is are be been has have had was were

and or but yet if when whenever once where wherever unless until till while as since because
although though whereas so than that then therefore thus hence however otherwise instead still
provided whether depending upon which who what whichever it we i you my our there this how

of to in on at by for from with without within under over above below after before during about
against among between throughout despite except excluding regardless irrespective notwithstanding
prior due like out up into through per effective starting rather outside beforehand

first second third fourth fifth next last final finally lastly afterwards subsequently previously
always often usually typically generally frequently normally commonly sometimes rarely possibly
probably perhaps likely solely exclusively alone also retroactively prospectively retroactive
even less more fewer least greater longer later

require requires required requirement requirements need needs apply applies depend depends condition
conditions conditional subject scope eligible eligibility restricted limited exception exempt
excluded waive waived override overrides takes take precedence priority prevails supersedes allowed
permitted forbidden denied blocked avoid unavailable satisfy satisfies exceed exceeds governed
controlled cover covered concerns change refused necessary valid precondition preconditions
contraindication

means refers defined called known consists treated

cause causes caused causing result lead reversed reverse sequence step steps order start begin
default case event place substitute assume rule practice

neither nobody every don't prevail replaces extend ignored lifted suspended disregarded counted
unaffected
"""
# Words of fixed phrases: in *advance*, at the *time* of, no *matter*, *edge case*, out of *date*.
_PHRASES = """
account act advance better cases circumstances conflict consider count date edge end ends ensure
free general given gives good help here latest long make matter open purpose question
save reason remains special time times used works worth
"""
GRAMMAR = frozenset(f"{_GRAMMAR} {_PHRASES}".split())


@pytest.mark.parametrize("language", sorted(LANGUAGES))
def test_the_lists_can_be_read_by_a_person(language: str) -> None:
    words = LANGUAGES[language]
    for kind in CueKind:
        cues = [*words.CUES.get(kind, "").split("|"), *words.NAMES.get(kind, "").split("|")]
        sys.stdout.write(f"{language} {kind.value}: {', '.join(it for it in cues if it)}\n")
        assert all(it == it.strip().lower() for it in cues)
    # A language with a kind missing would silently lose that kind of sentence.
    assert set(words.CUES) == set(CueKind)


def test_no_cue_is_a_content_word_of_our_cases() -> None:
    texts = [it.read_text(encoding="utf-8") for it in HERE.glob("compiler_cases*/*.txt")]
    assert texts
    assert sorted(_written_for(texts)) == []


def test_no_cue_is_a_content_word_of_the_public_cases() -> None:
    if not PUBLIC_CASES.is_dir():
        pytest.skip("the public cases are not here")
    paths = PUBLIC_CASES.glob("*.json")
    texts = [json.loads(it.read_text(encoding="utf-8"))["representations"]["raw"] for it in paths]
    assert texts
    assert sorted(_written_for(texts)) == []


def test_every_cue_is_found_where_it_stands() -> None:
    for language in LANGUAGES:
        grammar = load_grammar(language)
        for cue, kinds in grammar.kinds_by_cue.items():
            lowered = lowercase_aligned(f"x {cue.capitalize()} y")
            found = [it for it in grammar.find_cues(lowered) if it.start == 2]
            assert [(it.words, it.kinds) for it in found] == [(cue, kinds)]


def test_a_longer_cue_wins_over_the_one_inside_it() -> None:
    found = [it.words for it in load_grammar("en").find_cues("it must not run only when asked")]
    assert found == ["must not", "only when"]


def _written_for(texts: list[str]) -> set[str]:
    """Words of English cues that stand in the texts and are no grammar."""
    in_cues = {word for cue in load_grammar("en").kinds_by_cue for word in cue.split()}
    in_texts = {word for text in texts for word in re.findall(r"[a-z']+", text.lower())}
    return (in_cues & in_texts) - GRAMMAR
