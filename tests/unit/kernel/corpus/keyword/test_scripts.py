"""Words in scripts whose signs the engine would cut words at, or that have no spaces."""

import unicodedata

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
        # Korean and Japanese with the parts of their signs apart, as the same machines write names.
        ("소화기", unicodedata.normalize("NFD", "소화기는 복도에 있다"), "문은 복도에 있다"),
        ("ガイドブック", unicodedata.normalize("NFD", "ガイドブック"), "カイトフック"),
        # Signs of half and of full width; the forms that old files and some PDFs have.
        ("エレベーター", "ｴﾚﾍﾞｰﾀｰの点検", "階段の点検"),
        ("wifi 2026", "ＷｉＦｉ ２０２６", "WiFi 2025"),
        ("محمد", "\ufee3\ufea4\ufee4\ufeaa", "علي"),
        # A dotted capital I, and a dotless small one.
        ("istanbul", "İstanbul'daki şube", "Ankara'daki şube"),
        ("DİYARBAKIR", "Diyarbakır şubesi", "Bursa şubesi"),
        ("ılıca", "ILICA ŞUBESİ BUGÜN AÇIK DEĞİL ÇÜNKÜ TATİL", "ALACA ŞUBESİ BUGÜN AÇIK"),
        # Letters that Greek, Arabic and Persian write in several ways.
        ("λεβητας", "ο λέβητας συντηρείται", "ο κήπος συντηρείται"),
        ('"ο κήπος"', "Ο ΚΗΠΟΣ ΚΑΘΑΡΙΖΕΤΑΙ", "Ο ΔΡΟΜΟΣ ΚΑΘΑΡΙΖΕΤΑΙ"),
        ('"احكام الايجار"', "أحكام الإيجار", "أحكام البيع"),
        ("شقه", "هذه الشقّة جميلة", "هذه السيارة جميلة"),
        ("کتاب", "هذا كتاب جديد", "هذا قلم جديد"),
        # Ukrainian with either apostrophe; Russian without the dots of a letter; other digits.
        ("обовʼязкові", "Каска й окуляри обов'язкові.", "Каска й окуляри."),
        ("еще зеленый", "ещё зелёный", "уже синий"),
        ("2024", "سنة ٢٠٢٤", "سنة ٢٠٢٥"),
        ("२०२४", "वर्ष 2024", "वर्ष 2025"),
        # Hebrew writes the, in, from and and with the next word.
        ("מנגינה", "המנגינה חוברה בברוקלין", "הספר נכתב בברוקלין"),
        ("מעליות", "אסור להשתמש במעליות", "אסור להשתמש בטלפון"),
        ("ספר", "וכשהספרים נמצאו", "וכשהמפתח נמצא"),
        # Chinese in either form of its signs.
        ("资料库备份", "資料庫備份每天執行", "資料表每天執行"),
        ("停車罰款", "停车罚款由驾驶员承担", "停车由驾驶员承担"),
        # Words of other scripts inside Chinese, Japanese and Korean, without a space.
        ("Excel", "Excelで開く方法", "Wordで開く方法"),
        ("excel", "使用Excel打开文件", "使用Word打开文件"),
        ("PDF", "문서를 PDF로 저장한다", "문서를 ODT로 저장한다"),
        ('"Excelで開く"', "ファイルをExcelで開く", "Excelを開く"),
        ("2026", "令和2026年度の計画", "令和2025年度の計画"),
        ("人々", "町の人々が集まる", "町の人が集まる"),
        # A language without a stemmer, typed without its accents.
        ("zolte", "Żółte worki odbierane są we wtorek", "Białe worki"),
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


@pytest.mark.parametrize(
    ("query", "text", "language", "marked"),
    [
        ("エレベーター", "新しいｴﾚﾍﾞｰﾀｰの点検", "", "ｴﾚﾍﾞｰﾀｰ"),
        ("プール", unicodedata.normalize("NFD", "このプールは"), "", "プール"),
        ("wifi", "die ＷｉＦｉ Anlage", "de", "ＷｉＦｉ"),
        ("istanbul", "Yeni İstanbul'daki", "tr", "İstanbul"),
        ("ılıca", "ILICA şubesi", "tr", "ILICA"),
        ("κηπος", "Ο κήπος είναι", "el", "κήπος"),
        ("מנגינה", "זו המנגינה", "he", "המנגינה"),
        ("鍵盘", "鼠标与键盘", "", "键盘"),
        ("لا", "ﻻ يجوز", "ar", "ﻻ"),
        ("excel", "使用Excel打开文件", "", "Excel"),
        ("打开", "使用Excel打开文件", "", "打开"),
        ("zolte", "Żółte worki", "", "Żółte"),
    ],
)
def test_a_word_is_marked_in_the_form_that_the_text_has(
    query: str, text: str, language: str, marked: str
) -> None:
    terms = [*tokenize(query, language)]
    found = find_terms(text, terms, language)
    assert found
    shown = text[min(it.start for it in found) : max(it.end for it in found)]
    assert unicodedata.normalize("NFC", shown) == unicodedata.normalize("NFC", marked)


def test_a_file_is_found_by_its_name_however_its_signs_are_put_together() -> None:
    index = KeywordIndex.in_memory()
    names = ("보고서.md", "ガイドブック.md", "ＲＥＰＯＲＴ.md", "résumé.md")
    entries = [
        IndexEntry(id=at, group=at, key=unicodedata.normalize("NFD", name), body="x")
        for at, name in enumerate(names)
    ]
    index.apply([], entries, 1)
    for at, asked in enumerate(("보고서", "ガイドブック", "report", "résumé")):
        assert [it.id for it in index.search(parse_query(asked))][:1] == [at], asked


def test_a_phrase_without_spaces_must_occur() -> None:
    texts = ("ฉันขี่จักรยานไปทำงาน", "ฉันขี่รถยนต์ไปทำงาน")
    assert found_among('"จักรยาน"', *texts) == [0]
    assert found_among('"पत्थर भारी"', "वह पत्थर भारी है।", "भारी पत्थर") == [0]


def test_nothing_is_dropped_from_plain_text() -> None:
    for text in ("plain", "naïve Łódź", "日本国", "Ωmega"):
        assert clean_text(text) is text
        assert clean_with_offsets(text) == (text, None)


def test_every_character_is_cleaned_alone_as_it_is_beside_others() -> None:
    """A text of plain characters is not searched for what is rewritten."""
    special = "\u0e01"
    for code in (*range(0xD800), *range(0xE000, 0x2_0000)):
        one = chr(code)
        assert clean_text(one) == clean_text(f"{special} {one}")[2:], hex(code)
        both = clean_text(f"a{one}")
        assert both == clean_text(f"{special} a{one}")[2:] == clean_with_offsets(f"a{one}")[0]
