"""What is asked of an index: words, phrases, filters. Pure: no engine, and no text is refused."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from typing import NamedTuple

from pecia.kernel.corpus.keyword.analysis.scripts import clean_text
from pecia.kernel.corpus.keyword.analysis.token_filters import (
    NamePart,
    extract_proper_words,
    find_name_parts,
    remove_stop_words,
    split_words,
)


@dataclass(frozen=True, slots=True)
class Filter:
    """Where to look. What is None does not narrow; an empty set of classes or sources finds none.

    `path_glob` is held against the whole key: `*` and `?` stay within a folder, `**` is any number
    of folders, `[ab]` and `[!ab]` one of these signs or none of them. `content_type` is exact or
    `type/*`. `modified_after_ms` is inclusive, `modified_before_ms` exclusive. `authors` are those
    of `kernel.authors`, of which a file must have one.
    """

    classes: frozenset[int] | None = None
    sources: frozenset[str] | None = None
    path_glob: str | None = None
    content_type: str | None = None
    modified_after_ms: int | None = None
    modified_before_ms: int | None = None
    authors: frozenset[str] | None = None


class TranslatedWord(NamedTuple):
    """A word of a query, and English stems that it may mean, each with how likely it does."""

    word: str
    terms: tuple[tuple[str, float], ...]


@dataclass(frozen=True, slots=True)
class Query:
    """`words` are OR-ed, every phrase must be there, and so must every word of `titles`.

    `parts` are what joined names such as `FY2018` are made of, for where names are looked up, and
    `names` are the words written like names.
    `within` holds the filters that were written in the text. `unclear` are filters that it named
    with an invalid value: the caller of the parser should report it.
    `translated` are its words in English, if it is in another language and somebody translated it.
    """

    words: tuple[str, ...] = ()
    parts: tuple[NamePart, ...] = ()
    names: frozenset[str] = frozenset()
    phrases: tuple[str, ...] = ()
    titles: tuple[str, ...] = ()
    within: Filter = field(default_factory=Filter)
    unclear: tuple[str, ...] = ()
    translated: tuple[TranslatedWord, ...] = ()

    @property
    def has_terms(self) -> bool:
        """Whether there is anything to look for but a place."""
        return bool(self.words or self.phrases or self.titles)


NO_FILTER = Filter()

_TOKEN = re.compile(
    r"(?P<name>path|source|type|title|after|before):(?:\"(?P<quoted>[^\"]*)\"|(?P<bare>[^\s\"]+))"
    r"|\"(?P<phrase>[^\"]*)\"",
    re.IGNORECASE,
)


def parse_query(text: str) -> Query:
    """A query from what somebody typed. Every text means something; none is an error.

    `"some words"` must occur as they stand. `path:`, `source:`, `type:`, `after:` and `before:`
    filter, `title:` matches a word of the title. The rest are words, without those that only hold
    a sentence together; a query of nothing else keeps them.
    """
    # A lone surrogate is no character, and the engine takes none.
    text = text.encode("utf-8", "replace").decode()
    read = Query()
    rest: list[str] = []
    at = 0
    for found in _tokens(text):
        rest.append(text[at : found.start()])
        at = found.end()
        read = _add_token(read, found)
    rest.append(text[at:])
    clean = str if text.isascii() else clean_text
    words = clean(" ".join(rest))
    return replace(
        read,
        words=tuple(remove_stop_words(words)),
        names=extract_proper_words(words),
        phrases=tuple(map(clean, read.phrases)),
        titles=tuple(map(clean, read.titles)),
        parts=tuple(find_name_parts(clean(text))),
    )


def parse_moment_ms(text: str) -> int | None:
    """RFC 3339 or a date, in UTC where it does not say, in milliseconds; None if it is neither."""
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        return None
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    return (moment - _EPOCH) // timedelta(milliseconds=1)


def _tokens(text: str) -> Iterator[re.Match[str]]:
    """Filters at the start of a word, and quotations."""
    at = 0
    while found := _TOKEN.search(text, at):
        inside_word = found["name"] and found.start() and not text[found.start() - 1].isspace()
        if inside_word:
            at = found.start() + 1
            continue
        yield found
        at = found.end()


def _add_token(query: Query, found: re.Match[str]) -> Query:
    if found["name"] is None:
        phrase = found["phrase"].strip()
        return replace(query, phrases=(*query.phrases, phrase)) if split_words(phrase) else query
    value = (found["quoted"] if found["bare"] is None else found["bare"]).strip()
    name = found["name"].lower()
    if name == "title":
        return replace(query, titles=(*query.titles, *split_words(value)))
    narrowed = _add_condition(query.within, name, value) if value else None
    if narrowed is None:
        return replace(query, unclear=(*query.unclear, found.group()))
    return replace(query, within=narrowed)


def _add_condition(within: Filter, name: str, value: str) -> Filter | None:
    """The filter with one more condition; None when the value is none, or there is one already."""
    if name == "source":
        return replace(within, sources=(within.sources or frozenset()) | {value})
    if name == "path":
        return replace(within, path_glob=value) if within.path_glob is None else None
    if name == "type":
        # Without a slash it is no type: `type:pdf` would find nothing, and look like an answer.
        is_one = within.content_type is None and "/" in value
        return replace(within, content_type=value.lower()) if is_one else None
    moment = parse_moment_ms(value)
    if moment is None:
        return None
    if name == "after":
        return replace(within, modified_after_ms=max(moment, within.modified_after_ms or moment))
    return replace(within, modified_before_ms=min(moment, within.modified_before_ms or moment))


_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
