"""A sentence is shown only if its quotation says it: what is left out can make it false."""

import pytest

from pecia.features.lake.core.answer.quotation import split_statements, widen_to_sentences
from pecia.features.lake.core.answer.support import is_borne_out
from pecia.kernel.text.span import Span

BORNE_OUT = (
    (
        "Loan bikes are checked every Monday.",
        "Loan bikes are checked every Monday by the workshop.",
    ),
    ("loan bikes are checked every Monday", "The loan bikes are checked every Monday!"),
    ("A loan lasts at most 14 days.", "A loan lasts at most 14 days."),
    ("A loan ends. It costs 5 euros.", "A loan ends. It costs 5 euros."),
    ("Le vélo est prêté.", "Le vélo est prêté."),
)
TWISTED = (
    ("Anton sold the bike to Berta.", "Anton's brother sold the bike to Berta."),
    ("Anton sold the bike to Berta.", "Anton sold the bike for Berta."),
    ("The CEO of Acme resigned.", "The CEO of Acme's rival resigned."),
    ("The director was fired.", "The deputy director was fired."),
    ("Berta was fired.", "Berta's director was fired."),
    ("The bridge is safe.", "The bridge is anything but safe."),
    ("The shop opens on Monday.", "The shop opened on Monday."),
    ("The museum opens in 2020.", "The museum was planned to open in 2020."),
    ("The drug cures cancer.", "The drug cures cancer in mice."),
    ("The drug cures cancer.", "Critics doubt the drug cures cancer."),
    ("Bikes are lent to members.", "Bikes are lent to members over 18."),
    ("Exports rose 5 percent.", "Exports fell 3 percent and imports rose 5 percent."),
    ("The valve must be closed.", "The valve must be opened and the tap must be closed."),
    ("All staff are paid.", "Half of all staff are paid."),
    ("The parts were made.", "The parts were made by the firm only until 2019."),
    ("The debt was paid.", "The debt was paid by a third."),
    ("The limit is 5.", "The limit is -5."),
    ("Keep it > 5.", "Keep it < 5."),
    ("Members pay a fee.", "It is false:\n\n- members pay a fee."),
    ("Theft.", "Not covered are:\n\n- fire.\n- theft."),
    ("Der Hund biss den Mann.", "Den Hund biss der Mann."),
    ("", "Loan bikes are checked."),
)


@pytest.mark.parametrize(("sentence", "quotation"), BORNE_OUT)
def test_a_sentence_in_the_words_of_its_quotation_is_borne_out(
    sentence: str, quotation: str
) -> None:
    language = "fr" if "vélo" in sentence else "en"
    assert is_borne_out(sentence, [quotation], [language])


@pytest.mark.parametrize(("sentence", "quotation"), TWISTED)
def test_a_sentence_that_leaves_out_or_changes_a_word_is_not(sentence: str, quotation: str) -> None:
    for language in ("en", "de", ""):
        assert not is_borne_out(sentence, [quotation], [language])


def test_articles_are_words_in_other_languages_and_where_languages_are_mixed() -> None:
    assert not is_borne_out("A Berta vende.", ["Berta vende."], ["pt"])
    assert not is_borne_out("The vault opens.", ["Vault opens."], ["en", "de"])


def test_an_item_of_a_list_is_quoted_with_what_introduces_it() -> None:
    text = "Bikes are insured. Not covered are:\n\n- fire\n- theft\n\nCall us."
    at = text.index("theft")
    quoted = widen_to_sentences(text, Span(at, at + 5)).of(text)
    assert quoted.strip() == "Not covered are:\n\n- fire\n- theft"
    assert [it.of(text).strip() for it in split_statements(text)] == [
        "Bikes are insured.",
        "Not covered are:\n\n- fire\n- theft",
        "Call us.",
    ]
