"""Words in scripts whose signs the engine would cut words at, or that have no spaces."""

import pytest

from pecia.kernel.corpus.keyword.analysis.scripts import clean_text, clean_with_offsets
from pecia.kernel.corpus.keyword.analysis.tokenizer import find_terms, tokenize
from pecia.kernel.corpus.keyword.index import IndexEntry, KeywordIndex, parse_query


def found_among(query: str, *texts: str) -> list[int]:
    index = KeywordIndex.in_memory()
    entries = [IndexEntry(id=it, group=it, body=text) for it, text in enumerate(texts)]
    index.apply([], entries, 1)
    return [it.id for it in index.search(parse_query(query))]


@pytest.mark.parametrize(
    ("query", "text", "other"),
    [
        # Two words of Hindi that are alike up to the virama.
        ("पत्थर", "वह पत्थर भारी है।", "वह पत भारी है।"),
        ("मोबाइल", "यह मोबाइल नया है।", "यह मेज नया है।"),
        # One word inside a sentence of Thai, Khmer, Lao and Burmese, which have no spaces.
        ("จักรยาน", "ฉันขี่จักรยานไปทำงานทุกวัน", "ฉันเดินไปทำงานทุกวัน"),
        ("ตา", "คุณตาอ่านหนังสือ", "เขาอ่านหนังสือ"),
        ("កង់", "ខ្ញុំជិះកង់ទៅធ្វើការ", "ខ្ញុំដើរទៅធ្វើការ"),
        ("ລົດຖີບ", "ຂ້ອຍຂີ່ລົດຖີບໄປເຮັດວຽກ", "ຂ້ອຍຍ່າງໄປເຮັດວຽກ"),
        ("စက်ဘီး", "ကျွန်တော်စက်ဘီးစီးသည်", "ကျွန်တော်လမ်းလျှောက်သည်"),
        # With and without points, harakat and tatweel.
        ("שלום", "שָׁלוֹם לכולם", "לילה טוב"),
        ("كتاب", "هٰذَا كِتَـابٌ جديد", "هذا قلم جديد"),
        # An accent apart from its letter, as file systems of some machines write names.
        ("résumé", "my re\u0301sume\u0301 is here", "my sume is here"),
        ("й", "и\u0306", "и"),
        ("Donaudampfschiff", "das Donau\u00addampf\u00adschiff", "das Schiff"),
    ],
)
def test_a_word_finds_the_text_it_stands_in(query: str, text: str, other: str) -> None:
    assert found_among(query, other, text)[:1] == [1]


def test_what_is_marked_is_the_text_as_it_stands() -> None:
    text = "ฉันขี่จักรยาน, वह पत्थर, Donau\u00addampf und re\u0301sume\u0301."
    terms = tokenize("จักรยาน पत्थर Donaudampf résumé", "de")
    marked = [text[it.start : it.end] for it in find_terms(text, terms, "de")]
    assert "पत्थर" in marked
    assert "Donau\u00addampf" in marked
    assert "re\u0301sume\u0301" in marked
    assert {"จัก", "ยาน"} <= {*marked}


def test_a_phrase_without_spaces_must_occur() -> None:
    texts = ("ฉันขี่จักรยานไปทำงาน", "ฉันขี่รถยนต์ไปทำงาน")
    assert found_among('"จักรยาน"', *texts) == [0]
    assert found_among('"पत्थर भारी"', "वह पत्थर भारी है।", "भारी पत्थर") == [0]


def test_nothing_is_dropped_from_plain_text() -> None:
    for text in ("plain", "naïve Łódź", "日本国", "Ωmega"):
        assert clean_text(text) is text
        assert clean_with_offsets(text) == (text, None)
