"""The winner is the highest layer that speaks, whichever layers do."""

import tempfile
from collections.abc import Iterator
from itertools import combinations
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pecia.kernel.settings.layers.origin import SettingLayer, SettingOrigin
from tests.unit.kernel.settings.sample import Sample, read

# The strongest first. Two names of the environment and two keys of a file are places of their own.
PLACES = (
    "flag",
    "our variable",
    "first alias",
    "second alias",
    "project key",
    "project alias",
    "user key",
    "user alias",
)
LAYER_OF = {
    "flag": SettingLayer.FLAG,
    "our variable": SettingLayer.ENVIRONMENT,
    "first alias": SettingLayer.ENVIRONMENT,
    "second alias": SettingLayer.ENVIRONMENT,
    "project key": SettingLayer.PROJECT,
    "project alias": SettingLayer.PROJECT,
    "user key": SettingLayer.USER,
    "user alias": SettingLayer.USER,
}

# Few values over eight places, so that places agree as often as they differ.
value = st.integers(min_value=4, max_value=7)
said_by_place = st.fixed_dictionaries({}, optional=dict.fromkeys(PLACES, value))


@pytest.mark.parametrize("alias_first", [False, True])
@pytest.mark.parametrize("strongest", [*PLACES, None])
def test_the_winner_is_the_highest_place_that_speaks(
    strongest: str | None, alias_first: bool
) -> None:
    """All 256 sets of places, gathered by the strongest of each."""
    for said in every_set_led_by(strongest):
        found, origin = settle(said, alias_first=alias_first)
        assert found == (said[strongest] if strongest else 60)
        assert origin.layer is (LAYER_OF[strongest] if strongest else SettingLayer.DEFAULT)


@settings(max_examples=50, deadline=None)
@given(said_by_place, st.booleans())
def test_what_was_overruled_is_every_weaker_place_that_differs(
    said: dict[str, int], alias_first: bool
) -> None:
    found, origin = settle(said, alias_first=alias_first)
    weaker = [place for place in PLACES if place in said][1:]
    assert [it.layer for it in origin.overruled] == [
        LAYER_OF[place] for place in weaker if said[place] != found
    ]


def every_set_led_by(strongest: str | None) -> Iterator[dict[str, int]]:
    """Every set of places in which this one is the strongest, each with a value of its own."""
    if strongest is None:
        yield {}
        return
    weaker = PLACES[PLACES.index(strongest) + 1 :]
    for count in range(len(weaker) + 1):
        for others in combinations(weaker, count):
            yield {place: 4 + PLACES.index(place) for place in (strongest, *others)}


def settle(said: dict[str, int], *, alias_first: bool) -> tuple[float, SettingOrigin]:
    """The setting `wait_s` when exactly these places speak of it."""
    variables = {
        "PECIA_SAMPLE_WAIT_S": said.get("our variable"),
        "OLD_WAIT": said["first alias"] * 1000 if "first alias" in said else None,
        "OLDER_WAIT": said.get("second alias"),
    }
    with tempfile.TemporaryDirectory() as folder:
        found = read(
            flags={"sample.wait_s": said.get("flag")},
            environ={name: str(it) for name, it in variables.items() if it is not None},
            project_file=config(Path(folder, "project.yml"), said, "project", alias_first),
            user_file=config(Path(folder, "user.yml"), said, "user", alias_first),
        )
    return found.part(Sample).wait_s, found.provenance["sample.wait_s"]


def config(path: Path, said: dict[str, int], layer: str, alias_first: bool) -> Path:
    lines = [
        f"{section}: {{{key}: {said[place]}}}\n"
        for place, section, key in (
            (f"{layer} key", "sample", "wait_s"),
            (f"{layer} alias", "old", "wait"),
        )
        if place in said
    ]
    path.write_text("".join(reversed(lines) if alias_first else lines), encoding="utf-8")
    return path
