"""One code for a language, however it is written."""

import pytest

from pecia.kernel.text.language import normalize_language_tag, primary_language


@pytest.mark.parametrize(
    ("written", "tag"),
    [
        ("en", "en"),
        ("eng", "en"),
        ("ENG", "en"),
        ("deu", "de"),
        ("ger", "de"),
        ("pt_br", "pt-BR"),
        ("por-BR", "pt-BR"),
        ("zh-hant-tw", "zh-Hant-TW"),
        ("cmn", "zh"),
        ("yue", "yue"),
        (" fr ", "fr"),
        ("und", ""),
        ("mul", ""),
        ("", ""),
        ("English", ""),
        ("x", ""),
        ("en us", ""),
    ],
)
def test_a_language_has_one_tag(written: str, tag: str) -> None:
    assert normalize_language_tag(written) == tag
    assert normalize_language_tag(tag) == tag
    assert primary_language(written) == tag.partition("-")[0]
