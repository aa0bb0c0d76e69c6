"""What searches cost: counted by tenant and mode, with the CPU of those that ran alone."""

from uuid import UUID, uuid4

import pytest

from pecia.kernel.corpus.search import Mode
from pecia.rooms.lake.capacity import PEOPLE, Asker, Figures

NORTH, SOUTH = uuid4(), uuid4()
ANA, BO, CY = Asker(NORTH, uuid4()), Asker(NORTH, uuid4()), Asker(SOUTH, uuid4())


def served(figures: Figures, tenant_id: UUID) -> tuple[object, ...]:
    found = figures.of(tenant_id)
    each = (found["lexical"], found["hybrid"])
    return tuple(it["served"] for it in each if isinstance(it, dict))


def test_nothing_served_has_no_figures() -> None:
    nothing = {"served": 0, "latency_ms": None, "cpu_ms": None}
    assert Figures().of(NORTH) == {"lexical": nothing, "hybrid": nothing}


def test_a_tenant_sees_its_own_figures_by_mode() -> None:
    figures = Figures()
    for _ in range(3):
        with figures.measuring(ANA, Mode.LEXICAL):
            pass
    with figures.measuring(CY, Mode.HYBRID):
        pass
    assert served(figures, NORTH) == (3, 0)
    assert served(figures, SOUTH) == (0, 1)


def test_one_person_sees_figures_of_their_own_searches_alone() -> None:
    figures = Figures()
    with figures.measuring(ANA, Mode.LEXICAL):
        pass
    nothing = {"served": 0, "latency_ms": None, "cpu_ms": None}
    assert figures.of_one(BO) == {"lexical": nothing, "hybrid": nothing}
    own: object = figures.of_one(ANA)["lexical"]
    assert isinstance(own, dict)
    assert own["served"] == 1


def test_figures_of_people_are_bounded_and_the_latest_stay() -> None:
    figures = Figures()
    for number in range(3 * PEOPLE):
        with figures.measuring(Asker(NORTH, UUID(int=number)), Mode.LEXICAL):
            pass
    kept = [figures.of_one(Asker(NORTH, UUID(int=it)))["lexical"] for it in (0, 3 * PEOPLE - 1)]
    assert [it["served"] for it in kept if isinstance(it, dict)] == [0, 1]


def test_searches_that_ran_at_once_count_no_cpu() -> None:
    figures = Figures()
    with figures.measuring(ANA, Mode.LEXICAL), figures.measuring(CY, Mode.LEXICAL):
        pass
    for tenant in (NORTH, SOUTH):
        lexical: object = figures.of(tenant)["lexical"]
        assert isinstance(lexical, dict)
        assert lexical["cpu_ms"] is None
        assert lexical["latency_ms"] is not None


def test_a_search_that_failed_is_not_counted() -> None:
    figures = Figures()
    with pytest.raises(ValueError, match="broken"), figures.measuring(ANA, Mode.HYBRID):
        raise ValueError("broken")
    with figures.measuring(ANA, Mode.HYBRID):
        pass
    hybrid: object = figures.of(NORTH)["hybrid"]
    assert isinstance(hybrid, dict)
    assert (hybrid["served"], hybrid["cpu_ms"] is None) == (1, False)
