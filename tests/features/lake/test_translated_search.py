"""A question in one language finds the words of a text in English: said in the explanation, marked
in the snippet, and under the same rights and filters.
"""

from typing import Any

import pytest

from tests.features.lake.conftest import Lake

pytestmark = pytest.mark.anyio

BACKUP = "The password of the database is changed once a year by the administrator.\n"
GARDEN = "Tomatoes grow best in a warm garden with a lot of water.\n"
GERMAN = "Das Passwort der Datenbank wird einmal im Jahr geändert.\n"
QUESTION = "Wie ändere ich das Passwort der Datenbank?"


def keys(found: dict[str, Any]) -> list[str]:
    return [it["key"] for it in found["hits"]]


async def test_a_question_finds_english_text_by_the_words_it_would_have_there(lake: Lake) -> None:
    lake.write({"backup.md": BACKUP, "garden.md": GARDEN})
    await lake.crawl()
    found = await lake.search(QUESTION, mode="lexical", explain=True)
    assert keys(found) == ["backup.md"]
    [hit] = found["hits"]
    assert hit["explain"]["translated"]["passwort"] == ["password"]
    assert hit["explain"]["parts"]["words.translated"] > 0
    assert "<mark>password</mark>" in hit["snippet"]
    assert "<mark>database</mark>" in hit["snippet"]


async def test_text_in_the_language_of_the_question_comes_first_and_is_not_said_to_be_translated(
    lake: Lake,
) -> None:
    lake.write({"a.md": BACKUP, "b.md": GERMAN, "garden.md": GARDEN})
    await lake.crawl()
    found = await lake.search(QUESTION, mode="lexical", explain=True)
    assert keys(found) == ["b.md", "a.md"]
    assert "translated" not in found["hits"][0]["explain"]


async def test_filters_and_rights_hold_for_translated_words(lake: Lake) -> None:
    lake.write({"open/a.md": BACKUP, "other/b.md": BACKUP.replace("year", "month")})
    await lake.crawl()
    found = await lake.search(QUESTION, mode="lexical", path="open/**")
    assert keys(found) == ["open/a.md"]
    house = lake.house
    await house.call(house.ana, "set_source", source_id="docs", trim_mode="source_only")
    await lake.index()
    assert keys(await lake.search(QUESTION, mode="lexical", who=house.bo)) == []


async def test_words_in_quotation_marks_must_stand_as_they_are(lake: Lake) -> None:
    lake.write({"backup.md": BACKUP})
    await lake.crawl()
    assert keys(await lake.search('"Passwort der Datenbank"', mode="lexical")) == []


async def test_a_question_in_english_is_not_translated(lake: Lake) -> None:
    lake.write({"backup.md": BACKUP, "garden.md": GARDEN})
    await lake.crawl()
    found = await lake.search("password of the database", mode="lexical", explain=True)
    assert "translated" not in found["hits"][0]["explain"]
    assert "words.translated" not in found["hits"][0]["explain"]["parts"]
