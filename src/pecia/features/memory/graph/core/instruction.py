"""Parses a sentence into a graph change. Pure; linear time."""

import re
from collections.abc import Callable, Sequence
from typing import TypeAlias

from pecia.features.memory.graph.core.plan import GraphChange

_WORD = re.compile(r"\S+")
_TYPE = re.compile(r"[\w-]+")
_AROUND = "\"'`()[]{}<>,;:.!?…"
_QUOTES = " '\"`"
_RELATIONSHIPS = frozenset(("relationship", "relationships"))
_OF = frozenset(("of", "from", "between"))

Read: TypeAlias = "Callable[[_Sentence], GraphChange | None]"


class _Sentence:
    """The words of an instruction, as written and casefolded."""

    def __init__(self, text: str) -> None:
        # Final punctuation belongs to the sentence, but `C++` is a name.
        self.text = text.rstrip().rstrip(".!?…;, ")
        self.spans = [it.span() for it in _WORD.finditer(self.text)]
        self.words = [self.text[a:b].strip(_AROUND).casefold() for a, b in self.spans]

    def name(self, begin: int, end: int) -> str:
        """The name in these words, without quotes."""
        return self.text[self.spans[begin][0] : self.spans[end - 1][1]].strip(_QUOTES)

    def find_verbs(self, verbs: Sequence[str]) -> list[int]:
        return [at for at, it in enumerate(self.words) if it in verbs]

    def split_at(self, begin: int, between: Sequence[str]) -> tuple[str, str]:
        """The names before and after the first separator; the whole as one name without any."""
        count = len(self.words)
        for at in range(begin + 1, count - 1):
            if self.words[at] in between:
                return self.name(begin, at), self.name(at + 1, count)
        return (self.name(begin, count), "") if begin < count else ("", "")

    def ends(self, at: int) -> tuple[str, str] | None:
        """`of A`, `between A and B`, or nothing more; None where something else follows."""
        if at >= len(self.words):
            return "", ""
        if self.words[at] not in _OF or at + 1 >= len(self.words):
            return None
        return self.split_at(at + 1, ("and", "to"))

    def is_type(self, at: int) -> bool:
        return at < len(self.words) and bool(_TYPE.fullmatch(self.words[at]))


def parse_instruction(instruction: str) -> GraphChange | None:
    """The change that a sentence asks for; None where it cannot be parsed."""
    sentence = _Sentence(instruction)
    return next((change for read in _READERS if (change := read(sentence))), None)


def _merge(sentence: _Sentence) -> GraphChange | None:
    # Without a separator after the first verb, there is none after a later one.
    for at in sentence.find_verbs(("merge",))[:1]:
        one, other = sentence.split_at(at + 1, ("and", "with", "into"))
        if one and other:
            return GraphChange("merge_entities", one, other)
    return None


def _replace(sentence: _Sentence) -> GraphChange | None:
    for at in sentence.find_verbs(("replace",))[:1]:
        one, other = sentence.split_at(at + 1, ("with", "by"))
        if one and other:
            return GraphChange("replace_entity", one, other)
    return None


def _delete(sentence: _Sentence) -> GraphChange | None:
    for verb in sentence.find_verbs(("delete", "remove")):
        at = verb + 1
        at += sentence.words[at : at + 1] == ["all"]
        at += sentence.words[at : at + 1] == ["the"]
        type_ = ""
        if sentence.is_type(at) and sentence.words[at] not in _RELATIONSHIPS:
            type_, at = sentence.name(at, at + 1).strip(_AROUND), at + 1
        if (
            at < len(sentence.words)
            and sentence.words[at] in _RELATIONSHIPS
            and (ends := sentence.ends(at + 1))
        ):
            return GraphChange("delete_relationships", *ends, type_)
    return None


def _update(sentence: _Sentence) -> GraphChange | None:
    for verb in sentence.find_verbs(("change", "update", "rename")):
        at = verb + 1
        at += sentence.words[at : at + 1] == ["the"]
        if (
            sentence.words[at : at + 1]
            and sentence.words[at] in _RELATIONSHIPS
            and sentence.is_type(at + 1)
        ):
            at += sentence.words[at + 1] != "to"
        if not (
            sentence.is_type(at)
            and sentence.words[at + 1 : at + 2] == ["to"]
            and sentence.is_type(at + 2)
        ):
            continue
        if ends := sentence.ends(at + 3):
            old, new = (sentence.name(n, n + 1).strip(_AROUND) for n in (at, at + 2))
            return GraphChange("update_relationship", *ends, old, new)
    return None


_READERS: tuple[Read, ...] = (_merge, _replace, _delete, _update)
