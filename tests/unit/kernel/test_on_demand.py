"""What is imported and made with its first use."""

import sys
import threading
from pathlib import Path

import anyio
import pytest

from pecia.kernel.on_demand import OnDemand

pytestmark = pytest.mark.anyio

MODULE = """
import threading

THREAD = threading.get_ident()
MADE = []


class Greeter:
    def __init__(self, name):
        self.name = name
        MADE.append(name)

    async def greet(self, word):
        return f"{word} {self.name}"
"""


@pytest.fixture
def greeter(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> OnDemand["object"]:
    (tmp_path / "late_greeter.py").write_text(MODULE)
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    monkeypatch.delitem(sys.modules, "late_greeter", raising=False)
    return OnDemand("late_greeter:Greeter", "ana")


async def test_it_is_imported_in_a_thread_and_made_on_the_loop_once_for_all_who_wait(
    greeter: OnDemand[object],
) -> None:
    assert "late_greeter" not in sys.modules
    assert not greeter.is_made
    found: list[object] = []

    async def load() -> None:
        found.append(await greeter.load())

    async with anyio.create_task_group() as tasks:
        for _ in range(5):
            tasks.start_soon(load)
    module = sys.modules["late_greeter"]
    assert threading.get_ident() != module.THREAD
    assert module.MADE == ["ana"]
    assert {id(it) for it in found} == {id(greeter.get())}


async def test_threads_that_need_it_at_once_get_the_same(greeter: OnDemand[object]) -> None:
    found: list[object] = []
    threads = [threading.Thread(target=lambda: found.append(greeter.get())) for _ in range(8)]
    for it in threads:
        it.start()
    for it in threads:
        it.join()
    assert len({id(it) for it in found}) == 1
    assert sys.modules["late_greeter"].MADE == ["ana"]


async def test_a_handler_of_it_makes_it_with_its_first_call(greeter: OnDemand[object]) -> None:
    greet = greeter.handler(lambda it: getattr(it, "greet"))  # noqa: B009 - it has no type here
    assert not greeter.is_made
    assert await greet("hello") == "hello ana"
    assert greeter.is_made


async def test_what_fails_to_import_is_tried_again(tmp_path: Path) -> None:
    absent: OnDemand[object] = OnDemand("no_such_module_at_all:thing")
    for _ in range(2):
        with pytest.raises(ModuleNotFoundError):
            await absent.load()
    assert not absent.is_made
