"""When the file of an open document is brought up to date."""

from pecia.features.wiki.live.core.debounce import FlushDebounce
from pecia.features.wiki.storage.disk import FileStamp

FILE, OTHER = FileStamp(1, 1, 1), FileStamp(2, 2, 2)


def looked() -> FlushDebounce:
    """One that has seen the file."""
    pace = FlushDebounce(debounce_s=2, max_debounce_s=10)
    assert pace.is_due(0, FILE, is_behind=False)
    return pace


def test_a_file_that_is_up_to_date_is_left_alone() -> None:
    pace = looked()
    assert not any(pace.is_due(at, FILE, is_behind=False) for at in range(100))


def test_it_is_time_when_nobody_has_written_for_a_while() -> None:
    pace = looked()
    pace.mark_changed(100, was_behind=False)
    assert not pace.is_due(101, FILE, is_behind=True)
    assert pace.is_due(102, FILE, is_behind=True)


def test_who_writes_all_the_time_is_not_waited_for_for_ever() -> None:
    pace = looked()
    for at in range(100, 110):
        pace.mark_changed(at, was_behind=at > 100)
        assert not pace.is_due(at, FILE, is_behind=True)
    pace.mark_changed(110, was_behind=True)
    assert pace.is_due(110, FILE, is_behind=True)


def test_a_file_that_changed_is_looked_at_at_once() -> None:
    pace = looked()
    assert pace.is_due(1, OTHER, is_behind=False)
    assert not pace.is_due(2, OTHER, is_behind=False)


def test_a_file_is_gone_when_it_stays_away() -> None:
    pace = looked()
    assert not pace.is_due(1, None, is_behind=False)
    assert not pace.is_due(2, FILE, is_behind=False)
    assert not pace.is_due(3, None, is_behind=False)
    assert pace.is_due(4, None, is_behind=False)


def test_what_failed_is_not_tried_again_at_once() -> None:
    pace = looked()
    pace.mark_changed(100, was_behind=False)
    pace.mark_failed(105)
    assert not pace.is_due(106, FILE, is_behind=True)
    assert pace.is_due(107, FILE, is_behind=True)
