"""Ends a test process that hangs: pytest's time limit is over once a test has failed, and a fixture
may wait for ever for what the test left behind. The run goes on in a new process."""

import faulthandler
import os
import sys
from collections.abc import Generator
from threading import Timer

import pytest

from tests.soak import SOAK

MAX_TEST_S = 1800
"""Longer than any limit of a test with its fixtures."""


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, object, object]:
    if SOAK:
        return (yield)
    timer = Timer(MAX_TEST_S, _end_process, [item.nodeid])
    timer.daemon = True
    timer.start()
    try:
        return (yield)
    finally:
        timer.cancel()


def _end_process(test: str) -> None:
    stderr = sys.__stderr__
    if stderr is not None:
        print(f"{test} hangs: its process is ended", file=stderr, flush=True)
        faulthandler.dump_traceback(stderr)
    os._exit(1)
