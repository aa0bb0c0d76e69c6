"""When the file of an open document is brought up to date."""

from pecia.features.wiki.live.core.debounce import FlushDebounce, FlushKind
from pecia.features.wiki.storage.disk import FileStamp

FILE, OTHER = FileStamp(1, 1, 1), FileStamp(2, 2, 2)
NONE, READ, WRITE = FlushKind.NONE, FlushKind.READ, FlushKind.WRITE


def plan(
    pace: FlushDebounce,
    at: float,
    stamp: FileStamp | None = FILE,
    *,
    is_behind: bool = False,
    has_copies: bool = False,
) -> FlushKind:
    return pace.plan(at, stamp, is_behind=is_behind, has_copies=has_copies)


def looked() -> FlushDebounce:
    """One that has seen the file."""
    pace = FlushDebounce(debounce_s=2, max_debounce_s=10)
    assert plan(pace, 0) is READ
    return pace


def test_a_file_that_is_up_to_date_is_left_alone() -> None:
    pace = looked()
    assert {plan(pace, at) for at in range(100)} == {NONE}


def test_it_is_time_when_nobody_has_written_for_a_while() -> None:
    pace = looked()
    pace.mark_changed(100, was_behind=False)
    assert plan(pace, 101, is_behind=True) is NONE
    assert plan(pace, 102, is_behind=True) is WRITE


def test_who_writes_all_the_time_is_not_waited_for_for_ever() -> None:
    pace = looked()
    for at in range(100, 110):
        pace.mark_changed(at, was_behind=at > 100)
        assert plan(pace, at, is_behind=True) is NONE
    pace.mark_changed(110, was_behind=True)
    assert plan(pace, 110, is_behind=True) is WRITE


def test_who_writes_all_the_time_has_the_file_written_once_in_a_while() -> None:
    pace, written = looked(), list[int]()
    stamp = FILE
    for at in range(100, 200):
        # Edits come while the file is written, so it is behind all the time.
        pace.mark_changed(at, was_behind=at > 100)
        if plan(pace, at, stamp, is_behind=True, has_copies=bool(written)) is WRITE:
            pace.mark_written(at)
            written.append(at)
            stamp = FileStamp(at, at, at)
    assert written == [*range(110, 200, 10)]


def test_a_file_that_changed_is_looked_at_at_once() -> None:
    pace = looked()
    assert plan(pace, 1, OTHER) is READ
    assert plan(pace, 2, OTHER) is NONE


def test_who_writes_all_the_time_does_not_keep_a_changed_file_from_being_read() -> None:
    pace = looked()
    pace.mark_changed(100, was_behind=False)
    assert plan(pace, 101, OTHER, is_behind=True) is READ
    assert plan(pace, 101.5, OTHER, is_behind=True) is NONE


def test_replaced_files_are_read_as_long_as_they_are_there() -> None:
    pace = looked()
    assert {plan(pace, at, has_copies=True) for at in range(100)} == {READ}


def test_a_file_is_gone_when_it_stays_away() -> None:
    pace = looked()
    assert plan(pace, 1, None) is NONE
    assert plan(pace, 2, FILE) is NONE
    assert plan(pace, 3, None) is NONE
    assert plan(pace, 4, None) is READ


def test_what_failed_is_not_tried_again_at_once() -> None:
    pace = looked()
    pace.mark_changed(100, was_behind=False)
    pace.mark_failed(105)
    assert plan(pace, 106, is_behind=True) is NONE
    assert plan(pace, 107, is_behind=True) is WRITE


def test_a_file_that_could_not_be_read_is_read_later() -> None:
    pace = looked()
    assert plan(pace, 1, OTHER) is READ
    pace.mark_failed(1)
    assert {plan(pace, at, OTHER, has_copies=True) for at in range(2, 11)} == {NONE}
    assert plan(pace, 11, OTHER) is READ
    assert plan(pace, 12, OTHER) is NONE
