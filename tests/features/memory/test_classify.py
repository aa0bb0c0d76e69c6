"""Sentences that stand for what is asked later, and those that nobody needs later. None of them is
among those that the models are taught."""

import pytest

from pecia.features.memory.core.utterance import read_standing, read_utterance
from tests.features.memory.conftest import Memories

STANDING = [
    "Write invoices with the order number on top.",
    "If a request is unclear, ask me for details.",
    "Before you delete a folder, list its files.",
    "Use single quotes in shell scripts.",
    "Answers must not be longer than a page.",
    "Give prices in kroner.",
]
ONCE = [
    "Write an invoice for the boat trip.",
    "Delete the old folder and list the rest.",
    "Give me the price of the blue kayak.",
    "The kayak has a leak near the stern.",
    "The harbour office opens at eight.",
]
CHATTER = [
    "I have moved the code to the file you named.",
    "Let me check the file again.",
    "[DEBUG] pool size 4, idle 2",
    "2031-04-05 08:15:01 INFO listening on 8080",
    'Traceback (most recent call last):\n  File "boat.py", line 3',
    '{"ok": true, "boats": 3}',
]
KEPT = [
    "I have moved to Bergen.",
    "I'm scared of spiders.",
    "I stopped eating pork.",
    "The file boats.csv lists all kayaks with their owners.",
    "Error 17 of the pump means that the filter is clogged.",
    "WARNING: valve 3 must stay open while the pump runs.",
    "Commit 3f2a91c introduced the leak in the bilge sensor.",
    "commit 3f2a91c introduced the leak in the bilge sensor.",
]


@pytest.mark.parametrize("text", STANDING)
def test_what_holds_for_later_is_told_without_a_word_such_as_always(text: str) -> None:
    assert read_standing(text) is not None
    assert read_utterance(text).kept == text


@pytest.mark.parametrize("text", ONCE)
def test_what_is_asked_for_once_or_told_does_not_stand(text: str) -> None:
    assert read_standing(text) is None


@pytest.mark.anyio
@pytest.mark.parametrize("text", CHATTER)
async def test_what_is_said_while_working_is_not_kept(memories: Memories, text: str) -> None:
    answer = await memories.call(memories.bo, "ask_cipher", message=text)
    assert all(it["event"] == "NONE" for it in answer["remembered"])


@pytest.mark.parametrize("text", KEPT)
def test_a_fact_that_sounds_like_it_is_kept(text: str) -> None:
    assert read_utterance(text).kept == text
