"""The language of a text, as a hint for stemming. It never fails: no answer is an answer."""

import kreuzberg

from pecia.kernel.text.language import normalize_language_tag

_LEAST_LETTERS = 40
_DETECTION = kreuzberg.LanguageDetectionConfig(enabled=True, min_confidence=0.5)
# The quality of the text, a tenth of the time, is not asked.
_CONFIG = kreuzberg.ExtractionConfig(
    use_cache=False, language_detection=_DETECTION, enable_quality_processing=False
)


def detect_language(text: str) -> str:
    """Its tag, or nothing when the text is too short to tell."""
    words = text.strip()
    if len(words) < _LEAST_LETTERS:
        return ""
    try:
        found = kreuzberg.extract_bytes_sync(
            words.encode("utf-8", "replace"), "text/plain", config=_CONFIG
        )
    except kreuzberg.KreuzbergError:
        return ""
    # They are codes of three letters.
    return normalize_language_tag(found.detected_languages[0]) if found.detected_languages else ""
