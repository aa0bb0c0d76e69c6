"""How texts become terms: the fields of an index, their analysers, and the terms of a query.

A change here that makes other terms of the same text must raise VERSION: every index is then built
anew. Nothing here reads or writes an index.
"""

import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import NamedTuple

import tantivy

from pecia.kernel.corpus.keyword.analysis.balance import (
    FILLER,
    balance,
    ceil_length,
    fillers,
)
from pecia.kernel.corpus.keyword.analysis.scripts import blank_unspaced, clean_text
from pecia.kernel.corpus.keyword.analysis.token_filters import (
    STOP_WORDS,
    NamePart,
    cjk_bigrams,
    cjk_query_bigrams,
    detect_language,
    has_no_cjk,
    join_neighbours,
    split_compounds,
    split_file_name,
    stemmer_language,
)
from pecia.kernel.corpus.keyword.analysis.tokenizer import (
    DEFAULT_LANGUAGE,
    folding_analyzer,
    stemming_analyzer,
)
from pecia.kernel.corpus.keyword.entry import IndexEntry
from pecia.kernel.corpus.keyword.query.parser import Query

ANALYZER_VERSION = 10

# One set of weights for every corpus. `stems` and `folded` hold title, headings and body together:
# a word of the title counts in every chunk, and again, more, in the title's own field.
FIELD_WEIGHTS = {
    "stems": 1.0,
    "folded": 0.4,
    "title": 0.4,
    "headings": 0.17,
    "path": 2.0,
    "parts": 0.2,
    "cjk": 1.0,
    # English words that a word of the query may mean: half of what a word has that is its own stem,
    # so that a text in the language of the query comes first.
    "translated": 0.7,
}

# A plain word of a question is a word of its subject first: `default` asks for no file that is
# called so. Words written like names, years in joined ones and adjacent words count fully.
PLAIN_NAME_SHARE = 0.5

# Fields whose length counts, and the average that BM25 divides it by: about what a chunk of prose
# has. It is balanced: see `balance.py`. The engine stores each of these numbers exactly.
AVERAGE_TOKENS = {"stems_en": 128, "stems": 128, "folded": 128, "cjk": 128, "context": 376}
# Fields in which a term counts by its IDF alone, however long the field is and however often it
# has the term. They are short, so that BM25 says nearly the same of them, but that it needs an
# average for it.
PRESENCE_FIELDS = frozenset({"title", "headings", "path", "parts"})

# The context of a chunk: its own stems twice, and once those of the other chunks of a file that has
# at most so many. What a question asks for and what it is about often stand in different ones.
# Hits are scored again by it, and nothing is found by it: no hit lacks a word of the query.
SHORT_FILE_CHUNKS = 4
OWN_TIMES = 2

# Inside files that a question names, only what their pages say counts.
GROUP_FIELD_WEIGHTS = {"stems": 1.0, "headings": 1.0}

CURSOR_ROLE = "cursor"

# A search asks for the terms of its query to find, to score by context, and to count.
_MAX_QUERIES = 64
_MAX_FILES = 64

_YEAR = re.compile(r"(?:1[5-9]|2[01])\d\d")


def build_schema() -> tantivy.Schema:
    """The fields: texts by which chunks are found, facts by which they are narrowed."""
    made = tantivy.SchemaBuilder()
    # English is stemmed by the engine, beside us. All others share a field that we stem for: with
    # one for each, a question had three times as many terms.
    made.add_text_field("stems_en", tokenizer_name="en", index_option="freq")
    made.add_text_field("stems", tokenizer_name="spaced", index_option="freq")
    made.add_text_field("folded", tokenizer_name="folded", index_option="position")
    for name in ("title", "headings", "path", "parts"):
        made.add_text_field(name, tokenizer_name="folded", index_option="freq")
    made.add_text_field("cjk", tokenizer_name="spaced", index_option="freq")
    made.add_text_field("context", tokenizer_name="spaced", index_option="freq")
    for name in ("role", "language", "source", "key", "type", "author"):
        made.add_text_field(name, tokenizer_name="raw", index_option="basic")
    for name in ("id", "group", "acl"):
        made.add_integer_field(name, indexed=True, fast=True)
    # The group of a balance document, which must not be found as a chunk of it.
    made.add_integer_field("balanced", indexed=True)
    for name in ("modified", "mark", "chunks", "cursor", "version"):
        made.add_integer_field(name, fast=True)
    return made.build()


def register_analyzers(index: tantivy.Index) -> None:
    """Give an open index the analysers its fields name."""
    index.register_tokenizer("en", stemming_analyzer("en").engine)
    index.register_tokenizer("folded", folding_analyzer())
    index.register_tokenizer("spaced", _whitespace_analyzer())


def build_documents(entries: Iterable[IndexEntry]) -> Iterator[tantivy.Document]:
    """Entries as the index takes them, with the balance documents of each group."""
    groups: dict[int, list[IndexEntry]] = {}
    for it in entries:
        groups.setdefault(it.group, []).append(it)
    for group, held in groups.items():
        analyzed = [*map(_analyze, held)]
        lengths: list[dict[str, int]] = []
        for at, it in enumerate(analyzed):
            made = tantivy.Document()
            made.add_integer("chunks", len(held))
            lengths.append(_add_entry(made, it, _context(analyzed, at)))
            yield made
        for missing in balance(lengths, AVERAGE_TOKENS):
            made = tantivy.Document()
            made.add_integer("balanced", group)
            _add_texts(made, ((name, fillers(tokens)) for name, tokens in missing.items()))
            yield made


class _AnalyzedEntry(NamedTuple):
    """An entry with its language and stems. `spaced` are title, headings and body without what is
    written without spaces; `body_stems` those of the body alone."""

    entry: IndexEntry
    cleaned: IndexEntry
    language: str
    spaced: list[str]
    stems: list[str]
    body_stems: list[str]


def _analyze(entry: IndexEntry) -> _AnalyzedEntry:
    cleaned = _clean_entry(entry)
    language = _language(cleaned)
    parts = (cleaned.title, cleaned.headings, cleaned.body)
    spaced = [it if it.isascii() else blank_unspaced(it) for it in parts]
    above, body = (stemming_analyzer(language).analyze(it) for it in _above_and_body(spaced))
    return _AnalyzedEntry(entry, cleaned, language, spaced, above + body, body)


def _above_and_body(parts: Sequence[str]) -> tuple[str, str]:
    return "\n".join(parts[:-1]), parts[-1]


def _context(group: Sequence[_AnalyzedEntry], at: int) -> list[str]:
    """The context of a chunk, as stems."""
    others = (*group[:at], *group[at + 1 :]) if len(group) <= SHORT_FILE_CHUNKS else ()
    return group[at].stems * OWN_TIMES + [stem for it in others for stem in it.body_stems]


def _add_entry(made: tantivy.Document, it: _AnalyzedEntry, context: list[str]) -> dict[str, int]:
    """Add an entry; its lengths. The text itself is not kept: the store has it."""
    entry, cleaned, language, spaced, stems, _ = it
    text = "\n".join(filter(None, spaced))
    # One stem a word, so that both have as many.
    lengths = {"folded": len(stems), "context": len(context)}
    made.add_text("context", " ".join(context))
    if language == "en":
        made.add_text("stems_en", text)
        lengths["stems_en"] = len(stems)
    else:
        made.add_text("stems", " ".join(stems))
        lengths["stems"] = len(stems)
    made.add_text("language", language)
    # One by one, so that no phrase is found across the end of a title.
    _add_texts(made, (("folded", it) for it in spaced))
    bigrams = cjk_bigrams("\n".join(filter(None, (cleaned.title, cleaned.headings, cleaned.body))))
    lengths["cjk"] = len(bigrams.split())
    _add_texts(made, (*_side_texts(cleaned, text, language), ("cjk", bigrams)))
    _add_facts(made, entry)
    stored = {name: ceil_length(it) for name, it in lengths.items()}
    _add_texts(made, ((name, fillers(it - lengths[name])) for name, it in stored.items()))
    return stored


def _add_facts(made: tantivy.Document, entry: IndexEntry) -> None:
    made.add_text("source", entry.source)
    made.add_text("key", entry.key)
    _add_texts(made, (("type", it) for it in _types(entry.content_type)))
    _add_texts(made, (("author", it) for it in entry.authors))
    for name, value in (("id", entry.id), ("group", entry.group), ("acl", entry.acl)):
        made.add_integer(name, value)
    made.add_integer("mark", entry.mark)
    if entry.modified_ms is not None:
        made.add_integer("modified", entry.modified_ms)


def build_cursor_document(cursor: int) -> tantivy.Document:
    """How far the index has come, as a document: a commit has no other place for it."""
    made = tantivy.Document()
    made.add_text("role", CURSOR_ROLE)
    made.add_integer("cursor", cursor)
    made.add_integer("version", ANALYZER_VERSION)
    # As long as the average: it counts in it, and there is a new one with every commit.
    _add_texts(made, ((name, fillers(tokens)) for name, tokens in AVERAGE_TOKENS.items()))
    return made


@lru_cache(_MAX_QUERIES)
def query_terms(query: Query, languages: tuple[str, ...]) -> tuple[tuple[str, str, str], ...]:
    """What to look for: the field of WEIGHTS, the field of the index, the term. Each once."""
    return tuple(_query_terms(query, languages))


def _query_terms(query: Query, languages: Iterable[str]) -> Iterator[tuple[str, str, str]]:
    text = " ".join((*query.words, *query.phrases, *query.titles))
    spaced = text if text.isascii() else blank_unspaced(text)
    words = folding_analyzer().analyze(spaced)
    stems = {code: _stems(spaced, code) for code in languages}
    english = stems.pop("en", [])
    others = [it for found in stems.values() for it in found]
    parts = [it.text for it in query.parts]
    years = [it for it in parts if _YEAR.fullmatch(it)]
    names = [*words, *parts]
    for name, field, wanted in (
        ("stems", "stems_en", english),
        ("stems", "stems", others),
        ("folded", "folded", [*words, *years]),
        ("title", "title", names),
        ("headings", "headings", [*words, *years, *english, *others]),
        ("path", "path", [*names, *join_neighbours(query.words)]),
        ("parts", "parts", names),
        ("cjk", "cjk", cjk_query_bigrams(text)),
    ):
        for term in dict.fromkeys(wanted):
            if term != FILLER:
                yield name, field, term


class Weighted(NamedTuple):
    """A term to look for: the field of WEIGHTS, the field of the index, and how much it counts.

    `whole` is the name that it is a part of: the part is taken to be no rarer than that.
    """

    name: str
    field: str
    term: str
    weight: float
    whole: str = ""


@lru_cache(_MAX_QUERIES)
def weighted_query_terms(query: Query, languages: tuple[str, ...]) -> tuple[Weighted, ...]:
    """The same, each with its weight.

    A word that is its own stem stands in the fields of both nearly wherever it stands. One list
    with the weight of both says the same, and the engine, which reads every list to its end, has
    a fifth less to read.
    """
    return tuple(_weighted_terms(query, languages))


def _weighted_terms(query: Query, languages: tuple[str, ...]) -> Iterator[Weighted]:
    wanted = query_terms(query, languages)
    stems = {term for name, _, term in wanted if name == "stems"}
    own = {term for name, _, term in wanted if name == "folded" and term in stems}
    plain, parts = _plain_words(query), _identifier_parts(query)
    for name, field, term in wanted:
        if name in ("path", "title") and (part := parts.get(term)):
            weight = FIELD_WEIGHTS[name] * PLAIN_NAME_SHARE / part.siblings
            yield Weighted(name, field, term, weight, part.whole)
        elif name == "path" and term in plain:
            yield Weighted(name, field, term, FIELD_WEIGHTS[name] * PLAIN_NAME_SHARE)
        elif term not in own or name not in ("stems", "folded"):
            yield Weighted(name, field, term, FIELD_WEIGHTS[name])
        elif name == "stems":
            yield Weighted(name, field, term, FIELD_WEIGHTS["stems"] + FIELD_WEIGHTS["folded"])
    if "en" in languages:
        yield from _translated_terms(
            query, {term for _, field, term in wanted if field == "stems_en"}
        )


def _translated_terms(query: Query, own: Collection[str]) -> Iterator[Weighted]:
    """English terms that words of the query may mean, but those that it has itself."""
    shares: dict[str, float] = {}
    for it in query.translated:
        for term, share in it.terms:
            shares[term] = max(share, shares.get(term, 0.0))
    for term, share in shares.items():
        if term not in own:
            yield Weighted("translated", "stems_en", term, FIELD_WEIGHTS["translated"] * share)


def weighted_context_terms(query: Query, languages: tuple[str, ...]) -> Iterator[Weighted]:
    """Its stems alone, to look up in the context of a chunk."""
    # Every language has its stems in this one field.
    known: set[str] = set()
    for it in weighted_query_terms(query, languages):
        if it.name == "stems" and it.term not in known:
            known.add(it.term)
            yield it._replace(field="context")


def _plain_words(query: Query) -> frozenset[str]:
    """The words of a query that are not written like names."""
    words = folding_analyzer().analyze(" ".join(query.words))
    return frozenset(words).difference(
        (it.text for it in query.parts), folding_analyzer().analyze(" ".join(query.names))
    )


def _identifier_parts(query: Query) -> dict[str, NamePart]:
    """Parts of joined names that say little alone, as `scale` of `ScaleReader` does: all but years
    and words that the query has by themselves. All parts of a name count as one plain word.
    """
    words = folding_analyzer().analyze(" ".join(query.words))
    return {
        it.text: it._replace(whole="".join(folding_analyzer().analyze(it.whole)))
        for it in query.parts
        if it.text not in words and not _YEAR.fullmatch(it.text)
    }


def weighted_inside(query: Query, languages: tuple[str, ...]) -> Iterator[Weighted]:
    """The same for pages of files that a question names."""
    for name, field, term in query_terms(query, languages):
        if name in GROUP_FIELD_WEIGHTS:
            yield Weighted(name, field, term, GROUP_FIELD_WEIGHTS[name])


def phrase_terms(text: str) -> list[tuple[int, str]]:
    """The words of a phrase and where each stands, without the signs that have no spaces."""
    found = folding_analyzer().pre_tokenize(text).tokens
    return [(it.position, it.text) for it in found if has_no_cjk(it.text)]


def _whitespace_analyzer() -> tantivy.TextAnalyzer:
    return tantivy.TextAnalyzerBuilder(tantivy.Tokenizer.whitespace()).build()


def _language(entry: IndexEntry) -> str:
    return (
        stemmer_language(entry.language)
        or detect_language(f"{entry.title} {entry.body}")
        or DEFAULT_LANGUAGE
    )


def _clean_entry(entry: IndexEntry) -> IndexEntry:
    names = ("title", "headings", "body", "key")
    if all(getattr(entry, it).isascii() for it in names):
        return entry
    return replace(entry, **{name: clean_text(getattr(entry, name)) for name in names})


def _side_texts(entry: IndexEntry, text: str, language: str) -> Iterator[tuple[str, str]]:
    yield "title", _title_text(entry.title)
    yield "headings", " ".join((entry.headings, *_changed_stems(entry.headings, language)))
    yield "path", _path_text(entry.key)
    yield "parts", " ".join(split_compounds(text))


# The chunks of a file come one after the other.
@lru_cache(_MAX_FILES)
def _title_text(title: str) -> str:
    return " ".join((title, *split_compounds(title)))


@lru_cache(_MAX_FILES)
def _path_text(key: str) -> str:
    return " ".join(split_file_name(key))


@lru_cache(_MAX_FILES)
def _types(content_type: str) -> tuple[str, ...]:
    """A type as it stands, without its parameters, and its family, so that each can be asked."""
    whole = content_type.lower()
    plain = whole.partition(";")[0].strip()
    family = plain.partition("/")[0] + "/*" if "/" in plain else ""
    return tuple(dict.fromkeys((whole, plain, family)))


def _changed_stems(text: str, language: str) -> Iterator[str]:
    """The stems of words that are not their own, to stand beside the words."""
    words = folding_analyzer().analyze(text)
    held = frozenset(words)
    return (it for it in stemming_analyzer(language).analyze(text) if it not in held)


def _stems(text: str, language: str) -> list[str]:
    """Words of the query that only hold sentences together in that language say nothing there."""
    stops = STOP_WORDS[language]
    words = text.split()
    kept = [it for it in words if it not in stops] or words
    return stemming_analyzer(language).analyze(" ".join(kept))


def _add_texts(made: tantivy.Document, texts: Iterable[tuple[str, str]]) -> None:
    for name, text in texts:
        if text.strip():
            made.add_text(name, text)
