"""What holds of words in every script: a text is found by each, and shows where they stand."""

from hypothesis import given, settings
from hypothesis import strategies as st

from pecia.kernel.corpus.keyword.analysis.scripts import clean_text, clean_with_offsets
from pecia.kernel.corpus.keyword.analysis.tokenizer import find_terms, tokenize
from pecia.kernel.corpus.keyword.index import IndexEntry, KeywordIndex, parse_query
from tests.soak import SOAK

COUNT = 3_000 if SOAK else 80

WORDS = {
    "hi": "क्षेत्र पत्थर विद्यालय ज़मीन हिन्दी स्वतंत्रता",
    "bn": "বাংলাদেশ স্বাধীনতা বিদ্যালয় চাঁদ",
    "ta": "தமிழ்நாடு பள்ளிக்கூடம் மழை",
    "th": "จักรยาน ประเทศไทย น้ำ โรงเรียน",
    "km": "សាលារៀន ប្រទេស",
    "my": "မြန်မာနိုင်ငံ ကျောင်း",
    "he": "שָׁלוֹם ירושלים סֵפֶר",
    "ar": "مُحَمَّد مدرسة كتـاب",
    "fa": "می\u200cخواهم کتاب",
    "ja": "日本語 自転車 カタカナ",
    "ko": "대한민국 학교",
    "de": "Donau\u00addampf Straße Fu\u0308ße",
    "el": "κήπος ΔΡΌΜΟΣ",
    "tr": "İstanbul ILICA ışık",
    "uk": "обов\u02bcязкові",
    "zh": "資料庫 数据库Excel",
    "full width": "ＷｉＦｉ ｱﾊﾟｰﾄ \u1109\u1169\u1112\u116a",
    "forms": "\ufee3\ufea4\ufee4\ufeaa \ufefb \ufb01le",
    "vi": "Việt Tie\u0302\u0301ng",
    "en": "school wheel",
}
EVERY = [(language, word) for language, words in WORDS.items() for word in words.split()]


@settings(max_examples=COUNT, deadline=None)
@given(st.lists(st.sampled_from(EVERY), min_size=1, max_size=6), st.data())
def test_a_text_is_found_by_each_of_its_words(
    pieces: list[tuple[str, str]], data: st.DataObject
) -> None:
    text = " ".join(word for _, word in pieces)
    index = KeywordIndex.in_memory()
    index.apply([], [IndexEntry(id=1, group=1, body=text), IndexEntry(id=2, group=2, body="x")], 1)
    language, word = data.draw(st.sampled_from(pieces))
    assert [it.id for it in index.search(parse_query(word))] == [1], (language, word)
    assert find_terms(text, tokenize(word)), (language, word)


SIGNS = st.text(
    alphabet=st.sampled_from(
        "ab ä日本กขัน้ाक्त़\u0301\u0300\u00ad\u200dשָןم\u064e\u0640é,1"
        "ｶﾞＡİς資\u1109\u1169\u11a8\u3099\ufefb\ufdfa\ufb01"
    ),
    max_size=24,
)


@settings(max_examples=COUNT * 3, deadline=None)
@given(SIGNS)
def test_places_of_terms_are_slices_of_the_text_that_say_the_same(text: str) -> None:
    cleaned, offsets = clean_with_offsets(text)
    assert cleaned == clean_text(text)
    if offsets is not None:
        assert len(offsets) == len(cleaned) + 1
        assert offsets == sorted(offsets)
    for it in find_terms(text, tokenize(text)):
        assert 0 <= it.start < it.end <= len(text)
        assert it.term in tokenize(text[it.start : it.end])
