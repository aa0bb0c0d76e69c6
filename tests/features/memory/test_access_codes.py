"""Codes of doors, PINs, codes of recovery and Wi-Fi passwords are secrets; order numbers, years and
other numbers are not."""

from pathlib import Path

import pytest

from pecia.features.memory.core.screen.secret_policy import hide_secrets
from tests.features.memory.conftest import Memories

LINES = Path(__file__).with_name("access_codes.txt").read_text("utf-8").splitlines()[1:]
TOLD = [tuple(it.rsplit(" | ", 1)) for it in LINES if " | " in it]
NOT_TOLD = [it for it in LINES if " | " not in it]


@pytest.mark.parametrize(("text", "code"), TOLD)
def test_a_code_that_is_told_is_hidden(text: str, code: str) -> None:
    hidden = hide_secrets(text)
    assert code not in hidden
    assert "[redacted]" in hidden


@pytest.mark.parametrize("text", NOT_TOLD)
def test_another_number_stays(text: str) -> None:
    assert hide_secrets(text) == text


def test_a_long_text_costs_time_in_proportion() -> None:
    text = "The code for the code for the door of the 12 34 doors pin 1 2 3. " * 4000
    assert hide_secrets(text) == text


@pytest.mark.anyio
async def test_the_door_code_is_not_stored_and_the_answer_says_so(memories: Memories) -> None:
    told = await memories.call(
        memories.bo, "ask_cipher", message="Please remember: the door code is 4711."
    )
    assert "4711" not in str(await memories.call(memories.bo, "memory_list"))
    assert "the door code is [redacted]. (a secret in it was replaced" in told["outcome"]
