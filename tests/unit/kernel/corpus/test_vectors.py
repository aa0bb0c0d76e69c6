"""The nearest chunks: the same by either way, and none that the caller may not see."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime

import numpy as np
import pytest

from pecia.kernel.corpus.catalog.catalog import FileMetadata
from pecia.kernel.corpus.catalog.texts import move, put_many, remove
from pecia.kernel.corpus.keyword.query.parser import NO_FILTER, Filter
from pecia.kernel.corpus.vectors.knn import (
    VisibleSet,
    choose_ef_search,
    find_nearest,
    load_cosines,
)
from pecia.kernel.errors import OutOfRange
from pecia.kernel.text.glob import to_postgres_regex
from tests.unit.kernel.corpus.corpus_fixture import SOURCE, CorpusFixture, plain

pytestmark = pytest.mark.anyio

DIMS, FILES = 384, 60
MODEL = "test-model"
CHANCE = np.random.default_rng(4)
QUERY = CHANCE.normal(size=DIMS).astype(np.float32)


async def fill(ground: CorpusFixture) -> dict[int, float]:
    """Some files with vectors. The cosine of each chunk with the query."""
    facts = FileMetadata(SOURCE, "", content_type="text/plain")
    files = [
        (
            replace(
                facts,
                key=f"{'ab'[n % 2]}/{n}.md",
                modified_at=datetime(2026, 1, 1 + n % 9, tzinfo=UTC),
            ),
            plain(f"text {n}"),
        )
        for n in range(FILES)
    ]
    async with ground.writing(ground.ana) as tx:
        await put_many(tx, files)
    rows = await ground.ask("SELECT id, file_id FROM kernel.chunk ORDER BY id")
    vectors = (CHANCE.normal(size=(len(rows), DIMS)) + 0.1 * QUERY).astype(np.float16)
    await ground.ask(
        "INSERT INTO kernel.vector SELECT %s, id, file_id, %s, '0123456789abcdef', %s, v::halfvec"
        "  FROM unnest(%s::bigint[], %s::bigint[], %s::text[]) AS a (id, file_id, v)",
        *(ground.tenant_id, MODEL, DIMS, *map(list, zip(*rows, strict=True))),
        [str(it.tolist()) for it in vectors],
    )
    wide = vectors.astype(float)
    near = wide @ QUERY / np.linalg.norm(wide, axis=1) / np.linalg.norm(QUERY)
    return {id_: float(it) for (id_, _), it in zip(rows, near, strict=True)}


def best(found: dict[int, float], k: int) -> list[int]:
    return sorted(found, key=lambda it: -found[it])[:k]


def ids(found: Sequence[tuple[int, float]]) -> list[int]:
    return [id_ for id_, _ in found]


async def test_the_nearest_are_those_of_plain_arithmetic(ground: CorpusFixture) -> None:
    found = await fill(ground)
    async with ground.store.reading(ground.ana) as tx:
        near = await find_nearest(tx, QUERY, MODEL, 10)
        far = await find_nearest(tx, [*map(float, -QUERY)], MODEL, 10)
        exact = await load_cosines(tx, [*found, 999_999], QUERY, MODEL)
    assert ids(near) == best(found, 10)
    assert ids(far) == best({k: -it for k, it in found.items()}, 10)
    assert [it for _, it in near] == pytest.approx([found[it] for it, _ in near], abs=1e-3)
    assert exact == pytest.approx(found, abs=1e-3)


async def test_the_index_gives_what_looking_at_all_gives(
    ground: CorpusFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = await fill(ground)
    monkeypatch.setattr("pecia.kernel.corpus.vectors.knn.EXACT_SCAN_US", 1e9)
    async with ground.store.reading(ground.ana) as tx:
        assert ids(await find_nearest(tx, QUERY, MODEL, 10)) == best(found, 10)
        assert await tx.fetch_value("SELECT current_setting('hnsw.ef_search')") == "200"


async def test_who_sees_little_gets_all_of_it(
    ground: CorpusFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where the index comes back short: it starves quietly, and the exact way answers."""
    found = await fill(ground)
    async with ground.writing(ground.ana) as tx:
        await tx.execute(
            "INSERT INTO kernel.folder_grant SELECT tenant_id, 's1', 'b/', principal_id, 'reader'"
            " FROM kernel.user_account WHERE name = 'bo'"
        )
    visible = await ground.ask(
        "SELECT c.id FROM kernel.chunk c JOIN kernel.file f ON f.id = c.file_id WHERE f.key >= 'b/'"
    )
    wanted = best({id_: found[id_] for (id_,) in visible}, 100)
    assert len(wanted) == FILES // 2
    for exact_us in (4.0, 1e9):
        monkeypatch.setattr("pecia.kernel.corpus.vectors.knn.EXACT_SCAN_US", exact_us)
        async with ground.store.reading(ground.bo) as tx:
            await tx.fetch_value("SELECT set_config('hnsw.max_scan_tuples', '1', true)")
            assert ids(await find_nearest(tx, QUERY, MODEL, 100)) == wanted
            assert ids(await find_nearest(tx, QUERY, MODEL, 5)) == wanted[:5]
            assert set(await load_cosines(tx, [*found], QUERY, MODEL)) == {*wanted}


async def test_others_find_nothing(ground: CorpusFixture) -> None:
    found = await fill(ground)
    for who in (ground.bo, ground.away):
        async with ground.store.reading(who) as tx:
            assert await find_nearest(tx, QUERY, MODEL, 10) == []
            assert await load_cosines(tx, [*found], QUERY, MODEL) == {}


@pytest.mark.parametrize(
    ("narrowed", "condition"),
    [
        (Filter(sources=frozenset({SOURCE})), "true"),
        (Filter(sources=frozenset({"other"})), "false"),
        (Filter(sources=frozenset()), "false"),
        (Filter(path_glob="b/*.md"), "key LIKE 'b/%%'"),
        (Filter(path_glob="**/1?.md"), "key ~ '/1.[.]md'"),
        (Filter(path_glob="[!a]/**"), "key LIKE 'b/%%'"),
        (Filter(path_glob="*.md"), "false"),
        (Filter(content_type="text/*"), "true"),
        (Filter(content_type="TEXT/plain"), "true"),
        (Filter(content_type="text"), "false"),
        (Filter(modified_after_ms=1767571200000), "modified_at >= '2026-01-05Z'"),
        (Filter(modified_before_ms=1767571200000), "modified_at < '2026-01-05Z'"),
    ],
)
async def test_filters_hold_by_either_way(
    ground: CorpusFixture, monkeypatch: pytest.MonkeyPatch, narrowed: Filter, condition: str
) -> None:
    found = await fill(ground)
    rows = await ground.ask(
        f"SELECT c.id FROM kernel.chunk c JOIN kernel.file f ON f.id = c.file_id WHERE {condition}"
    )
    wanted = best({id_: found[id_] for (id_,) in rows}, 5)
    for exact_us in (4.0, 1e9):
        monkeypatch.setattr("pecia.kernel.corpus.vectors.knn.EXACT_SCAN_US", exact_us)
        async with ground.store.reading(ground.ana) as tx:
            assert ids(await find_nearest(tx, QUERY, MODEL, 5, narrowed)) == wanted


async def test_another_model_is_another_space(ground: CorpusFixture) -> None:
    await fill(ground)
    async with ground.store.reading(ground.ana) as tx:
        assert await find_nearest(tx, QUERY, "other", 5) == []
        assert await find_nearest(tx, [1.0, 2.0], MODEL, 5) == []
        with pytest.raises(OutOfRange):
            await find_nearest(tx, QUERY, MODEL, 0)


async def test_a_vector_goes_with_its_words_and_stays_with_them(ground: CorpusFixture) -> None:
    await fill(ground)
    await ground.put("a/0.md", "text 0", "more text")
    async with ground.writing(ground.ana) as tx:
        await move(tx, SOURCE, "a/0.md", "c/0.md")
    assert await ground.ask("SELECT count(*) FROM kernel.vector") == [(FILES,)]
    await ground.put("c/0.md", "quite another")
    assert await ground.ask("SELECT count(*) FROM kernel.vector") == [(FILES - 1,)]
    async with ground.writing(ground.ana) as tx:
        await remove(tx, SOURCE, "b/1.md")
    assert await ground.ask("SELECT count(*) FROM kernel.vector") == [(FILES - 2,)]


async def test_a_new_title_asks_for_new_vectors(ground: CorpusFixture) -> None:
    await fill(ground)
    await ground.put("a/0.md", "text 0", title="Named at last")
    assert await ground.ask("SELECT count(*) FROM kernel.vector") == [(FILES - 1,)]


def test_broad_callers_take_the_index_and_narrow_ones_look_at_all() -> None:
    assert choose_ef_search(VisibleSet([1], 100_000, 100_000), 60) > 0
    assert choose_ef_search(VisibleSet([1], 50_000, 100_000), 60) > 0
    assert choose_ef_search(VisibleSet([1], 200, 100_000), 60) == 0
    assert choose_ef_search(VisibleSet([1], 1, 1_000_000), 60) == 0


def test_a_small_index_is_asked_where_it_is_cheaper_than_a_look_at_all() -> None:
    assert choose_ef_search(VisibleSet([1], 3_000, 3_000), 30) > 0
    assert choose_ef_search(VisibleSet([1], 3_000, 100_000), 30) == 0
    assert choose_ef_search(VisibleSet([1], 500, 500), 30) == 0


def test_signs_that_mean_something_to_the_database_mean_themselves() -> None:
    assert NO_FILTER.path_glob is None
    assert to_postgres_regex("a.b") == r"\A\U00000061\U0000002E\U00000062\Z"
