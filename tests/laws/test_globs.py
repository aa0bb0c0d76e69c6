"""A glob means one thing, whether the keyword index matches it, the database or Python."""

from collections.abc import Iterator
from dataclasses import dataclass
from fnmatch import fnmatchcase
from itertools import product

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from pecia.kernel.corpus.keyword.index import Filter, IndexEntry, KeywordIndex, Query
from pecia.kernel.corpus.keyword.query.globs import validate_glob
from pecia.kernel.errors import InvalidFormat
from pecia.kernel.store.cluster import DatabaseLogins
from pecia.kernel.text.glob import compile_any, compile_glob, compile_name_glob, to_postgres_regex
from tests.laws.law_database import connect
from tests.laws.paths import Connection
from tests.laws.test_keyword_index import glob_fits
from tests.soak import SOAK

tries = settings(
    max_examples=2000 if SOAK else 50,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
)

# Every path of up to three of these signs: what a glob gets wrong, it gets wrong of one of them.
KEYS = ["".join(it) for size in (1, 2, 3) for it in product("ab9/-é[]!\n", repeat=size)]
# Much of what is drawn is malformed; whole sets make the rest likely.
PARTS = [*"ab/*?[]-!", "**", "[ab]", "[!a]", "[a-é]", "[+-9]", "[!+-9]", "[[]", "[!!]", "[-a]"]
globs = st.lists(st.sampled_from(PARTS), min_size=1, max_size=4).map("".join)


@dataclass(frozen=True, slots=True)
class Readers:
    index: KeywordIndex
    connection: Connection

    def by_words(self, glob: str) -> set[str]:
        found = self.index.search(Query(words=("alpha",)), Filter(path_glob=glob), len(KEYS))
        return {KEYS[it.id] for it in found}

    def by_database(self, glob: str) -> set[str]:
        rows = self.connection.execute(
            "SELECT key FROM unnest(%s::text[]) AS key WHERE key ~ %s",
            [KEYS, to_postgres_regex(glob)],
        )
        return {key for (key,) in rows}


@pytest.fixture(scope="module")
def readers(module_database: DatabaseLogins) -> Iterator[Readers]:
    index = KeywordIndex.in_memory()
    index.apply([], [IndexEntry(at, at, key=it, body="alpha") for at, it in enumerate(KEYS)])
    with connect(module_database.app) as connection:
        yield Readers(index, connection)


@tries
@example("a[+-9]b")
@example("a[!b]b")
@example("**/[]a]")
@given(globs)
def test_every_engine_finds_the_same_keys_by_an_accepted_glob(readers: Readers, glob: str) -> None:
    try:
        validate_glob(glob, field="path")
    except InvalidFormat:
        return
    wanted = {it for it in KEYS if glob_fits(glob, it)}
    assert readers.by_words(glob) == wanted
    assert readers.by_database(glob) == wanted
    # In the shell's syntax three stars are two; otherwise, without `\\` and `[^`, it is the same.
    is_same = "***" not in glob
    for fits in (compile_glob(glob), compile_any([glob]), compile_glob(glob, shell=is_same)):
        assert {it for it in KEYS if fits.fullmatch(it)} == wanted


@tries
@example("[]a]*")
@example("[!]]b")
@given(globs)
def test_in_a_pattern_of_one_text_a_slash_is_a_character_as_any_other(glob: str) -> None:
    fits = compile_name_glob(glob).fullmatch
    assert {it for it in KEYS if fits(it)} == {it for it in KEYS if fnmatchcase(it, glob)}
