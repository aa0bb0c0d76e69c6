"""The reference pages say what the code says."""

import pytest

from pecia.interfaces.cli.recorded_help import FILE
from scripts.command_help import record_all
from scripts.reference import FOLDER, pages, records


@pytest.mark.parametrize("name", sorted(pages()))
def test_a_reference_page_is_what_the_code_says(name: str) -> None:
    written = (FOLDER / name).read_text(encoding="utf-8")
    assert written == pages()[name], "run `make docs`"


def test_what_is_recorded_of_tools_is_what_the_features_build() -> None:
    written = {path: path.read_text(encoding="utf-8") for path in records()}
    assert written == records(), "run `make docs`"


def test_the_recorded_help_is_what_the_commands_say() -> None:
    assert FILE.read_text(encoding="utf-8") == record_all(), "run `make docs`"
