"""Question and answer pairs of the source: by label (`Q:`), or a question as a title.

Marks the sentences of labelled pairs, so that no rule is extracted from a question.
"""

from dataclasses import dataclass

from pecia.features.ckf.heuristic.candidate import ItemCandidate
from pecia.features.ckf.heuristic.parse.text import ParsedText, Sentence
from pecia.kernel.errors import Json
from pecia.kernel.text.span import Span

MAX_ANSWER_CHARS = 1500


@dataclass(frozen=True, slots=True)
class _Label:
    """Offset of the text after a label."""

    asks: bool
    start: int


def extract_answers(parsed: ParsedText) -> list[ItemCandidate]:
    """One pair per labelled question and per title that is a question, in document order."""
    found: list[ItemCandidate] = []
    at = 0
    while at < len(parsed.lines):
        line = parsed.lines[at]
        label = _label(parsed, line)
        if label and label.asks:
            at = _extract_labelled(parsed, at, label.start, found)
        elif line.title and line.text.rstrip("*_# ").endswith(("?", "？", "؟")):
            at = _extract_titled(parsed, at, found)
        else:
            at += 1
    return found


def _extract_labelled(parsed: ParsedText, at: int, start: int, found: list[ItemCandidate]) -> int:
    """Extract the pair that begins at line `at`; returns the line to continue with."""
    lines = parsed.lines
    answer = at + 1
    while answer < len(lines) and not lines[answer].title:
        label = _label(parsed, lines[answer])
        if label and label.asks:
            return answer
        if label:
            end = _end_of_answer(parsed, answer)
            question = Span(start, lines[answer - 1].span.end).of(parsed.text)
            answer_text = Span(label.start, lines[end - 1].span.end).of(parsed.text)
            _add(question, answer_text, (lines[at], lines[answer]), found)
            for it in lines[at:end]:
                it.asked = True
            return end
        answer += 1
    return at + 1


def _end_of_answer(parsed: ParsedText, answer: int) -> int:
    """An answer ends with its paragraph, or at the next label in it."""
    lines = parsed.lines
    end = answer + 1
    while end < len(lines) and lines[end].block is lines[answer].block:
        if _label(parsed, lines[end]):
            break
        end += 1
    return end


def _extract_titled(parsed: ParsedText, at: int, found: list[ItemCandidate]) -> int:
    lines = parsed.lines
    first = end = at + 1
    while (
        end < len(lines)
        and not lines[end].title
        and lines[end].span.end - lines[first].span.start <= MAX_ANSWER_CHARS
    ):
        end += 1
    if end > first:
        answer_text = Span(lines[first].span.start, lines[end - 1].span.end).of(parsed.text)
        _add(lines[at].text.strip("*_# "), answer_text, (lines[at], lines[first]), found)
    return max(end, first)


def _add(
    question: str, answer: str, lines: tuple[Sentence, ...], found: list[ItemCandidate]
) -> None:
    question, answer = question.strip(), answer.strip()
    if question and answer:
        fields: dict[str, Json] = {"question": question, "ideal_answer": answer}
        found.append(ItemCandidate("qa_pairs", f"{question} {answer}", fields, lines))


def _label(parsed: ParsedText, line: Sentence) -> _Label | None:
    if not line.text.find(" ", 0, 24) > 1 and ":" not in line.text[:24]:
        return None
    grammar, start, end = parsed.grammar, line.span.start, line.span.end
    for asks, pattern in ((True, grammar.question), (False, grammar.answer)):
        match = pattern.match(parsed.lowered, start, end)
        if match:
            return _Label(asks, match.end())
    return None
