"""Settings that a session brings, over those of the server."""

import pytest

from pecia.features.hub.settings import HubSettings, timeout_in
from pecia.features.memory.settings import MemorySettings
from pecia.kernel.errors import InvalidFormat, Json
from pecia.kernel.settings.session import apply_session


def test_a_session_that_brings_nothing_changes_nothing() -> None:
    usual = MemorySettings(collection="x")
    assert apply_session(usual, {}) is usual
    assert apply_session(usual, {"OK_SOMETHING": "1"}) is usual


def test_our_name_is_heard_before_a_variable_and_both_before_the_server() -> None:
    both: dict[str, Json] = {"memory.collection": "ours", "VECTOR_STORE_COLLECTION": "theirs"}
    assert apply_session(MemorySettings(collection="x"), both).collection == "ours"
    del both["memory.collection"]
    assert apply_session(MemorySettings(collection="x"), both).collection == "theirs"


def test_the_units_of_a_variable_are_its_own() -> None:
    assert timeout_in({"AGGREGATOR_TIMEOUT": "300000"}, 60) == 300
    assert timeout_in({"hub.timeout_s": 300.0}, 60) == 300
    assert timeout_in({}, 60) == 60


def test_only_what_a_session_may_set_is_set() -> None:
    wish: dict[str, Json] = {"hub.servers_file": "/etc/passwd", "hub.timeout_s": 5}
    made = apply_session(HubSettings(), wish, ("timeout_s",))
    assert (made.servers_file, made.timeout_s) == (None, 5)


def test_a_mode_that_is_none_is_passed_over_as_its_reference_does() -> None:
    assert apply_session(MemorySettings(), {"MCP_SERVER_MODE": "both"}).server_mode == "default"


@pytest.mark.parametrize(
    ("session", "field"),
    [
        ({"USE_ASK_CIPHER": "perhaps"}, "USE_ASK_CIPHER"),
        ({"memory.server_mode": "both"}, "memory.server_mode"),
        ({"AGGREGATOR_TIMEOUT": "soon"}, "AGGREGATOR_TIMEOUT"),
        ({"DISABLE_DEFAULT_MEMORY": "true"}, "memory.disable_default"),
    ],
)
def test_what_is_no_value_is_refused_by_its_name(session: dict[str, Json], field: str) -> None:
    part = HubSettings() if field.startswith("AGGREGATOR") else MemorySettings()
    with pytest.raises(InvalidFormat) as refused:
        apply_session(part, session)
    assert refused.value.fields["field"] == field
