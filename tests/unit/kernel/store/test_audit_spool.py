"""Processes of a home begin and end at once: none fails over the audit file of another."""

from pathlib import Path

from pecia.kernel.store.audit.spool import find_abandoned, read_records


def test_a_file_that_goes_while_others_look_for_abandoned_ones_stops_nobody(tmp_path: Path) -> None:
    left = tmp_path / "1-left.audit"
    left.write_bytes(b"")
    # Listed, and not there when it is opened.
    (tmp_path / "0-gone.audit").symlink_to(tmp_path / "nothing")
    assert [*find_abandoned(tmp_path)] == [left]
    assert read_records([tmp_path / "0-gone.audit", left]) == []
