"""Whatever document a stranger sends, the answer or a refusal comes at the deadline, and nobody
else waits for it.

Time is not measured. The work is seen in a process of its own, which is gone once the caller was
refused; meanwhile the server answers others.
"""

import os
import signal
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path

import anyio
import pytest
from anyio.from_thread import BlockingPortal, start_blocking_portal
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from pecia.app.app import App
from pecia.kernel.errors import Json, PeciaError, Timeout, Unavailable
from pecia.kernel.identity.caller import Caller
from pecia.kernel.store.cluster import DatabaseLogins
from tests.compute import workers
from tests.conftest import CONTEXT, OpenHouse
from tests.soak import SOAK

HURRIED = replace(CONTEXT, timeout_s=1.0)
PATIENT = replace(CONTEXT, timeout_s=120.0)
KNOWN = "entities:\n- {id: ent_a, name: A, type: thing, description: A thing}\n"
LARGEST = 1_900_000

pytestmark = pytest.mark.timeout(7200 if SOAK else 240)


@dataclass(frozen=True, slots=True)
class Server:
    portal: BlockingPortal
    app: App
    caller: Caller

    def tried(self, tool: str, arguments: dict[str, Json]) -> "CallOutcome":
        return self.portal.call(_tried, self, tool, arguments)

    def answer(self, tool: str, arguments: dict[str, Json]) -> object:
        return self.portal.call(self.app.call, self.caller, tool, arguments, PATIENT).structured


@dataclass(slots=True)
class CallOutcome:
    """What became of a call, the workers that were seen meanwhile, and the answers to others."""

    refusal: PeciaError | None = None
    workers: set[int] = field(default_factory=set[int])
    others: int = 0


@pytest.fixture
def server(database: DatabaseLogins, tmp_path: Path, open_house: OpenHouse) -> Iterator[Server]:
    with (
        start_blocking_portal() as portal,
        portal.wrap_async_context_manager(open_house(database, tmp_path / "home")) as app,
    ):
        caller = portal.call(app.authenticate, None, CONTEXT)
        assert isinstance(caller, Caller)
        yield Server(portal, app, caller)


async def _tried(server: Server, tool: str, arguments: dict[str, Json]) -> CallOutcome:
    found, over = CallOutcome(), anyio.Event()

    async def others() -> None:
        while not over.is_set():
            await server.app.call(server.caller, "whoami", {}, PATIENT)
            found.others += 1
            found.workers |= workers()

    async with anyio.create_task_group() as group:
        group.start_soon(others)
        try:
            await server.app.call(server.caller, tool, arguments, HURRIED)
        except PeciaError as error:
            found.refusal = error
        over.set()
    return found


def nested(depth: int, _: int) -> str:
    return KNOWN + "deep: " + "[" * depth + "]" * depth + "\n"


def flow_lists(count: int, width: int) -> str:
    return KNOWN + "list:\n" + f"- [{', '.join('ab' * 2 for _ in range(width))}]\n" * count


def anchors(count: int, width: int) -> str:
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x]"]
    lines += [
        f"a{number}: &a{number} [{', '.join([f'*a{number - 1}'] * (width % 9 + 2))}]"
        for number in range(1, count % 40 + 2)
    ]
    return KNOWN + "\n".join(lines) + "\n"


def long_keys(count: int, width: int) -> str:
    return KNOWN + "".join(f"? {'k' * (width * 40)}{it}\n: v\n" for it in range(count))


def folded(count: int, width: int) -> str:
    return KNOWN + "text: >\n" + f"  {'a ' * width}\n\n" * count


def quotes(count: int, width: int) -> str:
    return KNOWN + "".join(f"k{it}: 'it''s {chr(39) * 2 * width}'\n" for it in range(count))


def fences(count: int, width: int) -> str:
    return "# CKF\n\n" + f"```yaml\nentities: [{'{a: b}, ' * width}]\n```\n\n" * count


def repeated_names(count: int, width: int) -> str:
    inner = ", ".join(f'"k{it % 997}": {width}' for it in range(count * 8))
    return f'{{"entities": [], "x": {{{inner}}}}}'


Kind = Callable[[int, int], str]
KINDS: list[Kind] = [
    nested,
    flow_lists,
    anchors,
    long_keys,
    folded,
    quotes,
    fences,
    repeated_names,
]


@st.composite
def documents(draw: st.DrawFn) -> str:
    """Documents of every hostile kind, up to the largest that is taken."""
    make = draw(st.sampled_from(KINDS))
    count = draw(st.sampled_from([1, 40, 2_000, 60_000]))
    return make(count, draw(st.integers(1, 20)))[:LARGEST]


def calls(document: str) -> st.SearchStrategy[tuple[str, dict[str, Json]]]:
    packaged: list[tuple[str, dict[str, Json]]] = [
        ("ckf.serialize", {"package": document, "format": "yaml"}),
        ("ckf.diff", {"a": document, "b": document}),
        ("ckf.slice", {"package": document, "query": "a"}),
        ("ckf.verify", {"package": document, "source_text": "A thing."}),
    ]
    return st.sampled_from(
        [
            ("ckf.parse", {"document": document}),
            ("ckf.validate", {"document": document}),
            ("ckf.compile", {"text": (document * 20)[:200_000].ljust(20)}),
            *packaged,
        ]
    )


@pytest.mark.slow
def test_a_hostile_document_ends_with_its_deadline_and_holds_up_nobody(server: Server) -> None:
    @given(documents().flatmap(calls))
    @example(("ckf.parse", {"document": flow_lists(60_000, 6)[:LARGEST]}))
    @example(("ckf.validate", {"document": quotes(60_000, 8)[:LARGEST]}))
    @settings(
        max_examples=400 if SOAK else 12,
        deadline=None,
        suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
    )
    def holds(call: tuple[str, dict[str, Json]]) -> None:
        found = server.tried(*call)
        assert found.others, "nobody else was answered"
        if isinstance(found.refusal, Timeout):
            assert found.workers, "it was worked on in the server itself"
            assert found.workers - workers(), "what worked on it is still there"
        # The next document is read as ever.
        answered = server.answer("ckf.parse", {"document": KNOWN})
        assert isinstance(answered, dict)

    holds()


def test_a_document_that_takes_too_long_is_refused_at_its_deadline(server: Server) -> None:
    found = server.tried("ckf.parse", {"document": flow_lists(60_000, 6)[:LARGEST]})
    assert isinstance(found.refusal, Timeout)
    assert found.workers - workers(), "what worked on it is still there"


def test_workers_end_with_the_server(
    database: DatabaseLogins, tmp_path: Path, open_house: OpenHouse
) -> None:
    with start_blocking_portal() as portal:
        with portal.wrap_async_context_manager(open_house(database, tmp_path / "home")) as app:
            caller = portal.call(app.authenticate, None, CONTEXT)
            assert isinstance(caller, Caller)
            portal.call(app.call, caller, "ckf.parse", {"document": KNOWN}, PATIENT)
            assert len(workers()) == 1, "it stays warm"
        assert not workers()


def test_a_deadline_shorter_than_the_start_of_a_worker_is_met_once_one_has_started(
    server: Server,
) -> None:
    began = time.monotonic()
    server.answer("ckf.parse", {"document": KNOWN})
    shorter = replace(CONTEXT, timeout_s=(time.monotonic() - began) / 2)
    (worker,) = workers()
    os.kill(worker, signal.SIGKILL)

    def is_answered() -> bool:
        try:
            server.portal.call(
                server.app.call, server.caller, "ckf.parse", {"document": KNOWN}, shorter
            )
        except (Timeout, Unavailable):
            return False
        return True

    assert any(is_answered() for _ in range(10)), "each call ended the worker that it started"
