"""A glob means one thing, whether the keyword index reads it or the database."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from pecia.kernel.corpus.keyword.index import Filter, IndexEntry, KeywordIndex, Query
from pecia.kernel.corpus.keyword.query.globs import validate_glob
from pecia.kernel.corpus.vectors.knn import glob_to_postgres_regex
from pecia.kernel.errors import InvalidFormat
from pecia.kernel.store.cluster import DatabaseLogins
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
            [KEYS, glob_to_postgres_regex(glob)],
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
def test_both_readers_of_an_accepted_glob_find_the_same_keys(readers: Readers, glob: str) -> None:
    try:
        validate_glob(glob, field="path")
    except InvalidFormat:
        return
    wanted = {it for it in KEYS if glob_fits(glob, it)}
    assert readers.by_words(glob) == wanted
    assert readers.by_database(glob) == wanted
