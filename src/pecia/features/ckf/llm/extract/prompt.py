"""The prompt for a model: instructions and a delimited part of the source. Pure."""

from importlib.resources import files

from pecia.features.ckf.llm.prepare.segment import SourceChunk

INSTRUCTIONS = (
    files("pecia.features.ckf.llm.extract").joinpath("instructions.md").read_text("utf-8").strip()
)
SOURCE_OPEN, SOURCE_CLOSE = "<<<SOURCE>>>", "<<<END SOURCE>>>"
_LEVELS = {
    "light": "Keep the main points only.",
    "standard": "Keep everything that a reader would act on.",
    "dense": "Keep everything that a reader would act on, in as few words as possible.",
    "agentic": "Keep every statement, rule and condition.",
}


def build_prompt(chunk: SourceChunk, text: str, language: str, level: str) -> str:
    """The user message. A delimiter inside the source cannot end it early."""
    words = (
        chunk.span.of(text)
        .replace(SOURCE_OPEN, "< < <SOURCE> > >")
        .replace(SOURCE_CLOSE, "< < <END> > >")
    )
    lines = [
        _language(language),
        _LEVELS[level],
        f"Part {chunk.number}" + (f": {chunk.path}" if chunk.path else ""),
        f"{SOURCE_OPEN}\n{words}\n{SOURCE_CLOSE}",
    ]
    return "\n\n".join(lines)


def _language(language: str) -> str:
    if language == "und":
        return "Write in the language of the source."
    return f"Write every field but the quotations in this language: {language}"
