"""What a sentence asks to be changed in a graph. Pure: word by word, in linear time."""

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
    """The words of an instruction, as they stand and as they are compared."""

    def __init__(self, text: str) -> None:
        # The mark at the end belongs to the sentence, and `C++` to its name.
        self.text = text.rstrip().rstrip(".!?…;, ")
        self.spans = [it.span() for it in _WORD.finditer(self.text)]
        self.words = [self.text[a:b].strip(_AROUND).casefold() for a, b in self.spans]

    def name(self, begin: int, end: int) -> str:
        """What these words name, without quotes around it."""
        return self.text[self.spans[begin][0] : self.spans[end - 1][1]].strip(_QUOTES)

    def places(self, verbs: Sequence[str]) -> list[int]:
        return [at for at, it in enumerate(self.words) if it in verbs]

    def parted(self, begin: int, between: Sequence[str]) -> tuple[str, str]:
        """The names before and after the first of these words; all of it where there is none."""
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
        return self.parted(at + 1, ("and", "to"))

    def is_type(self, at: int) -> bool:
        return at < len(self.words) and bool(_TYPE.fullmatch(self.words[at]))


def read_wish(instruction: str) -> GraphChange | None:
    """The wish that a sentence states, None where it states none that is understood."""
    sentence = _Sentence(instruction)
    return next((wish for read in _READERS if (wish := read(sentence))), None)


def _merge(it: _Sentence) -> GraphChange | None:
    # Where nothing parts the names behind the first verb, nothing does behind a later one.
    for at in it.places(("merge",))[:1]:
        one, other = it.parted(at + 1, ("and", "with", "into"))
        if one and other:
            return GraphChange("merge_entities", one, other)
    return None


def _replace(it: _Sentence) -> GraphChange | None:
    for at in it.places(("replace",))[:1]:
        one, other = it.parted(at + 1, ("with", "by"))
        if one and other:
            return GraphChange("replace_entity", one, other)
    return None


def _delete(it: _Sentence) -> GraphChange | None:
    for verb in it.places(("delete", "remove")):
        at = verb + 1
        at += it.words[at : at + 1] == ["all"]
        at += it.words[at : at + 1] == ["the"]
        type_ = ""
        if it.is_type(at) and it.words[at] not in _RELATIONSHIPS:
            type_, at = it.name(at, at + 1).strip(_AROUND), at + 1
        if at < len(it.words) and it.words[at] in _RELATIONSHIPS and (ends := it.ends(at + 1)):
            return GraphChange("delete_relationships", *ends, type_)
    return None


def _update(it: _Sentence) -> GraphChange | None:
    for verb in it.places(("change", "update", "rename")):
        at = verb + 1
        at += it.words[at : at + 1] == ["the"]
        if it.words[at : at + 1] and it.words[at] in _RELATIONSHIPS and it.is_type(at + 1):
            at += it.words[at + 1] != "to"
        if not (it.is_type(at) and it.words[at + 1 : at + 2] == ["to"] and it.is_type(at + 2)):
            continue
        if ends := it.ends(at + 3):
            old, new = (it.name(n, n + 1).strip(_AROUND) for n in (at, at + 2))
            return GraphChange("update_relationship", *ends, old, new)
    return None


_READERS: tuple[Read, ...] = (_merge, _replace, _delete, _update)
