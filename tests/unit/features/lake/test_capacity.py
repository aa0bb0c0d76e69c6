"""What searches cost: counted by tenant and mode, with the CPU of those that ran alone."""

from uuid import UUID, uuid4

import pytest

from pecia.features.lake.capacity import MAX_USERS, SearchMetrics, SearchUser
from pecia.kernel.corpus.search.search import SearchMode

NORTH, SOUTH = uuid4(), uuid4()
ANA, BO, CY = SearchUser(NORTH, uuid4()), SearchUser(NORTH, uuid4()), SearchUser(SOUTH, uuid4())


def served(figures: SearchMetrics, tenant_id: UUID) -> tuple[object, ...]:
    found = figures.report_tenant(tenant_id)
    each = (found["lexical"], found["hybrid"])
    return tuple(it["served"] for it in each if isinstance(it, dict))


def test_nothing_served_has_no_figures() -> None:
    nothing = {"served": 0, "latency_ms": None, "cpu_ms": None}
    assert SearchMetrics().report_tenant(NORTH) == {"lexical": nothing, "hybrid": nothing}


def test_a_tenant_sees_its_own_figures_by_mode() -> None:
    figures = SearchMetrics()
    for _ in range(3):
        with figures.measure(ANA, SearchMode.LEXICAL):
            pass
    with figures.measure(CY, SearchMode.HYBRID):
        pass
    assert served(figures, NORTH) == (3, 0)
    assert served(figures, SOUTH) == (0, 1)


def test_one_person_sees_figures_of_their_own_searches_alone() -> None:
    figures = SearchMetrics()
    with figures.measure(ANA, SearchMode.LEXICAL):
        pass
    nothing = {"served": 0, "latency_ms": None, "cpu_ms": None}
    assert figures.report_user(BO) == {"lexical": nothing, "hybrid": nothing}
    own: object = figures.report_user(ANA)["lexical"]
    assert isinstance(own, dict)
    assert own["served"] == 1


def test_figures_of_people_are_bounded_and_the_latest_stay() -> None:
    figures = SearchMetrics()
    for number in range(3 * MAX_USERS):
        with figures.measure(SearchUser(NORTH, UUID(int=number)), SearchMode.LEXICAL):
            pass
    kept = [
        figures.report_user(SearchUser(NORTH, UUID(int=it)))["lexical"]
        for it in (0, 3 * MAX_USERS - 1)
    ]
    assert [it["served"] for it in kept if isinstance(it, dict)] == [0, 1]


def test_searches_that_ran_at_once_count_no_cpu() -> None:
    figures = SearchMetrics()
    with figures.measure(ANA, SearchMode.LEXICAL), figures.measure(CY, SearchMode.LEXICAL):
        pass
    for tenant in (NORTH, SOUTH):
        lexical: object = figures.report_tenant(tenant)["lexical"]
        assert isinstance(lexical, dict)
        assert lexical["cpu_ms"] is None
        assert lexical["latency_ms"] is not None


def test_a_search_that_failed_is_not_counted() -> None:
    figures = SearchMetrics()
    with pytest.raises(ValueError, match="broken"), figures.measure(ANA, SearchMode.HYBRID):
        raise ValueError("broken")
    with figures.measure(ANA, SearchMode.HYBRID):
        pass
    hybrid: object = figures.report_tenant(NORTH)["hybrid"]
    assert isinstance(hybrid, dict)
    assert (hybrid["served"], hybrid["cpu_ms"] is None) == (1, False)
