"""Under which names upstream tools are known here, and what becomes of those that change."""

import pytest

from pecia.features.hub.core.drift import detect_drift
from pecia.features.hub.core.tool_name import (
    MAX_NAME_CHARS,
    SERVER_NAME,
    ToolNamePolicy,
    prefix_name,
)
from pecia.features.hub.model import OfferedTool, StoredTool
from pecia.kernel.errors import Conflict

PREFIX = ToolNamePolicy()


def offer(name: str, description: str = "") -> OfferedTool:
    return OfferedTool(name, description, {"type": "object"})


def kept(server: str, name: str, exposed: str | None = None) -> StoredTool:
    return StoredTool(server, name, exposed or name, offer(name), None)


def test_a_name_that_nobody_has_stays_bare() -> None:
    assert PREFIX.choose_name("files", "read_file", {}) == "read_file"


def test_a_name_of_ours_is_never_given_away() -> None:
    ours = ToolNamePolicy(built_in={"read_file"})
    assert ours.choose_name("files", "read_file", {}) == "files__read_file"


def test_every_name_is_prefixed_where_that_is_wished() -> None:
    always = ToolNamePolicy(always_prefixed=True)
    assert always.choose_name("files", "read_file", {}) == "files__read_file"


@pytest.mark.requirement("hub.upstream.nested_prefix")
def test_a_name_that_another_hub_prefixed_is_kept_below_ours() -> None:
    taken = {"files__read_file": "a"}
    assert PREFIX.choose_name("hub2", "files__read_file", taken) == "hub2__files__read_file"


def test_a_prefixed_name_that_is_taken_gets_a_mark() -> None:
    taken = {"c": "x", "a__c": "b"}
    name = PREFIX.choose_name("a", "c", taken)
    assert name is not None
    assert name.startswith("a__c_")
    assert name not in taken


def test_long_names_stay_apart_and_within_what_models_take() -> None:
    names = {prefix_name("files", "x" * 120 + it) for it in "abc"}
    assert len(names) == 3
    assert all(len(it) <= MAX_NAME_CHARS for it in names)


def test_where_a_conflict_is_an_error_both_servers_are_named() -> None:
    with pytest.raises(Conflict, match="Tool name conflict: echo") as refused:
        ToolNamePolicy("error").choose_name("b", "echo", {"echo": "a"})
    assert refused.value.fields["servers"] == ["a", "b"]


@pytest.mark.parametrize("name", ["files", "a-b", "a_b", "A1", "x"])
def test_these_are_names_of_servers(name: str) -> None:
    assert SERVER_NAME.fullmatch(name)


@pytest.mark.parametrize("name", ["", "_a", "a_", "a__b", "-a", "a.b", "a b", "ä", "a\n"])
def test_these_are_not(name: str) -> None:
    assert not SERVER_NAME.fullmatch(name)


def look(
    *offers: OfferedTool, known: list[StoredTool], takes: bool = False, is_initial: bool = True
) -> dict[str, StoredTool]:
    found = detect_drift("s", offers, known, PREFIX, takes_changes=takes, is_initial=is_initial)
    return {it.name: it for it in found}


def test_what_is_seen_first_is_approved_with_the_server() -> None:
    found = look(offer("a"), offer("b"), known=[kept("other", "b")])
    assert {name: (it.state, it.exposed) for name, it in found.items()} == {
        "a": ("approved", "a"),
        "b": ("approved", "s__b"),
    }


def test_what_is_seen_only_later_waits() -> None:
    found = look(offer("a"), known=[], is_initial=False)
    assert (found["a"].state, found["a"].exposed) == ("new", None)


def test_nothing_new_is_nothing_to_write() -> None:
    assert look(offer("a"), known=[kept("s", "a")]) == {}


def test_a_changed_tool_keeps_its_name_and_what_was_approved() -> None:
    found = look(offer("a", "other words"), known=[kept("s", "a", "mine")])
    assert (found["a"].state, found["a"].exposed) == ("changed", "mine")
    assert found["a"].effective.description == ""


def test_a_tool_that_changes_back_is_as_it_was() -> None:
    was = look(offer("a", "other words"), known=[kept("s", "a")])["a"]
    assert look(offer("a"), known=[was])["a"] == kept("s", "a")


def test_a_tool_that_went_and_comes_back_is_as_it_was() -> None:
    gone = look(known=[kept("s", "a")])["a"]
    assert gone.state == "gone"
    assert look(offer("a"), known=[gone])["a"].state == "approved"


def test_a_later_tool_waits_unless_changes_are_taken() -> None:
    known = [kept("s", "a")]
    assert look(offer("a"), offer("b"), known=known)["b"].state == "new"
    assert look(offer("a"), offer("b"), known=known, takes=True)["b"].state == "approved"
