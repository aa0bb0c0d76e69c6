"""With an ACL filter in the keyword index or without one, a caller gets the same answer.

The policy chooses by cost alone. Both ways are exact, while the index is at the database's commit
and while it lags, for callers who see all, most, some, few or nothing.
"""

from random import Random

import pytest

from pecia.app.app import index_root
from pecia.kernel.corpus.catalog.catalog import FileMetadata
from pecia.kernel.corpus.catalog.texts import ExtractedText, put_many
from pecia.kernel.corpus.keyword.query.parser import NO_FILTER
from pecia.kernel.corpus.keyword.reader_cache import ReaderCache
from pecia.kernel.corpus.search.search import Corpus, SearchMode, SearchRequest, SearchResult
from pecia.kernel.corpus.visibility import VisibilityPolicy, VisibleSet
from pecia.kernel.identity.caller import Caller
from pecia.kernel.text.canonical import RawUnit, UnitKind, build_canonical_text
from tests.laws.lake_clients import Hashing, index
from tests.laws.test_lake_pages import FOLDERS, SOURCE, WORDS, Large, large
from tests.soak import FIRST, SOAK

__all__ = ["large"]

pytestmark = pytest.mark.timeout(0 if SOAK else 300)

ALWAYS_FILTERS, NEVER_FILTERS = VisibilityPolicy(2.0), VisibilityPolicy(1e-9)
QUESTIONS = 200 if SOAK else 5
PAGES = ((10, 0), (10, 25), (50, 60))
# More than are remembered to have sufficed before only the first few hits are fetched.
REPEATED = 10
HIDDEN = 250


@pytest.mark.anyio
@pytest.mark.parametrize("mode", [*SearchMode])
async def test_a_caller_gets_the_same_with_an_acl_filter_and_without(
    large: Large, mode: SearchMode
) -> None:
    app, chance = large.house.app, Random(FIRST)
    readers = ReaderCache(index_root(app.settings.kernel))
    ways = [
        Corpus(app.store, readers, Hashing(), policy=it)
        for it in (ALWAYS_FILTERS, NEVER_FILTERS, VisibilityPolicy())
    ]

    async def check(caller: Caller, ask: SearchRequest) -> SearchResult:
        first, *others = [await it.search(caller, ask) for it in ways]
        assert all(it == first for it in others), ask
        return first

    async def check_all() -> None:
        for name, (caller, _) in large.callers.items():
            for _ in range(QUESTIONS):
                words = " ".join(chance.sample(WORDS, k=chance.randint(1, 3)))
                for limit, offset in PAGES:
                    found = await check(
                        caller, SearchRequest(words, limit, offset, mode, explain=True)
                    )
                    assert bool(found.hits) or offset > 0 or name == "none"
        few = SearchRequest(WORDS[0], 10, mode=SearchMode.LEXICAL)
        for _ in range(REPEATED):
            await check(large.callers["some"][0], few)

    await check_all()
    # Hidden hits that are better than all others, and many: more than were fetched for them.
    hidden = [
        (FileMetadata(SOURCE, f"{FOLDERS[-1]}/later{n}.txt"), dense(n)) for n in range(HIDDEN)
    ]
    tenant_id = large.house.ana.tenant_id
    async with app.store.system() as tx:
        await put_many(tx, hidden, tenant_id=tenant_id)
    await check_all()
    await index(app, [str(tenant_id)])
    await check_all()


def dense(n: int) -> ExtractedText:
    body = " ".join([f"later{n}", *WORDS[:2] * 20])
    return ExtractedText(build_canonical_text([RawUnit(1, UnitKind.SECTION, body)]), language="en")


def test_only_who_sees_little_is_searched_for_with_a_filter() -> None:
    policy = VisibilityPolicy(0.5)
    few, most, everything = (VisibleSet([7], it, 100) for it in (49, 50, 100))
    assert policy.add_filter(NO_FILTER, few).classes == {7}
    assert policy.overfetch(few, 30) == 30
    assert policy.add_filter(NO_FILTER, most).classes is None
    assert policy.overfetch(most, 30) > 60
    assert policy.add_filter(NO_FILTER, everything).classes is None
    assert policy.overfetch(everything, 30) == 30
