"""A child that dies, hangs, floods or swells ends its own file, and nothing else."""

import errno
import os
import signal
import sys
from collections.abc import AsyncGenerator
from contextlib import suppress
from pathlib import Path

import anyio
import psutil
import pytest

from pecia.adapters.extraction.child import sandbox
from pecia.adapters.extraction.extractor import FileExtractor, open_extractor
from pecia.adapters.extraction.model import MB, ExtractedDocument, ExtractionLimits
from pecia.adapters.extraction.status import ExtractionStatus
from tests.faults import extract_confined
from tests.unit.adapters.extraction import samples

pytestmark = [pytest.mark.anyio, pytest.mark.fault]

NOTE = b"# Rules\n\nBring it back by six.\n"
LONG = samples.pdf([[f"Words of page {number}."] * 50 for number in range(1, 2_001)])
BOMB = samples.pdf_bomb(900_000_000)
only_linux = pytest.mark.skipif(
    sys.platform != "linux", reason="the sandbox of the extraction child is Linux's"
)


@pytest.fixture
async def extractor() -> AsyncGenerator[FileExtractor]:
    async with open_extractor(ExtractionLimits(children=1, units_at_once=100)) as found:
        # The first file starts the child, which the tests then look for.
        await found.extract(NOTE, name="rules.md")
        yield found


def children() -> list[psutil.Process]:
    found: list[psutil.Process] = []
    for it in psutil.Process().children():
        with suppress(psutil.NoSuchProcess):
            if "pecia.adapters.extraction.child" in it.cmdline():
                found.append(it)
    return found


def names(folder: Path) -> list[str]:
    return [it.name for it in folder.iterdir()]


async def at_work() -> psutil.Process:
    """The child, once it uses the processor."""
    with anyio.fail_after(30):
        while True:
            for child in children():
                with suppress(psutil.NoSuchProcess):
                    before = sum(child.cpu_times()[:2])
                    await anyio.sleep(0.05)
                    if sum(child.cpu_times()[:2]) > before:
                        return child
            await anyio.sleep(0.01)


async def test_a_child_killed_between_two_files_costs_nothing(extractor: FileExtractor) -> None:
    (child,) = children()
    child.kill()
    assert (await extractor.extract(NOTE, name="rules.md")).status is ExtractionStatus.OK


async def test_a_child_without_files_ends_and_the_next_file_has_another() -> None:
    async with open_extractor(ExtractionLimits(children=1, idle_s=3)) as found:
        await found.extract(NOTE, name="rules.md")
        (child,) = children()
        await anyio.to_thread.run_sync(child.wait, 60)
        assert (await found.extract(NOTE, name="rules.md")).status is ExtractionStatus.OK


async def test_a_child_killed_among_several_files_costs_none_of_them(
    extractor: FileExtractor,
) -> None:
    found: list[ExtractedDocument] = []

    async def read() -> None:
        files = [("a.md", "", NOTE), ("long.pdf", "", LONG), ("b.md", "", NOTE)]
        found.extend(await extractor.extract_together(files))

    with anyio.fail_after(50):
        async with anyio.create_task_group() as group:
            group.start_soon(read)
            (await at_work()).kill()
    assert [it.status for it in found] == [ExtractionStatus.OK] * 3
    assert [found[0].text, found[2].text] == [NOTE.decode()] * 2
    assert len(found[1].units) == 2_000


async def test_a_bomb_among_several_files_costs_itself_alone() -> None:
    files = [("a.md", "", NOTE), ("bomb.pdf", "", BOMB), ("b.md", "", NOTE)]
    async with open_extractor(ExtractionLimits(children=1, memory_bytes=600 * MB)) as small:
        found = await small.extract_together(files)
        alone = await small.extract(BOMB, name="bomb.pdf")
    assert [it.status for it in found] == [ExtractionStatus.OK, alone.status, ExtractionStatus.OK]
    assert found[1].reason == alone.reason


async def test_a_document_goes_on_where_its_killed_reader_stopped(extractor: FileExtractor) -> None:
    found: list[ExtractedDocument] = []

    async def read() -> None:
        found.append(await extractor.extract(LONG, name="long.pdf"))

    with anyio.fail_after(50):
        async with anyio.create_task_group() as group:
            group.start_soon(read)
            for _ in range(2):
                (await at_work()).kill()
    assert (found[0].status, [it.no for it in found[0].units]) == (
        ExtractionStatus.OK,
        [*range(1, 2_001)],
    )
    assert found[0].text == (await extractor.extract(LONG, name="long.pdf")).text


async def test_a_file_that_kills_its_reader_is_crashed_and_the_next_is_read() -> None:
    async with open_extractor(ExtractionLimits(children=1, memory_bytes=600 * MB)) as small:
        bomb = await small.extract(BOMB, name="bomb.pdf")
        after = await small.extract(NOTE, name="rules.md")
    assert bomb.status in (ExtractionStatus.CRASHED, ExtractionStatus.TOO_LARGE)
    assert "memory" in bomb.reason
    assert (after.status, after.text) == (ExtractionStatus.OK, NOTE.decode())


async def test_too_much_time_on_the_processor_ends_the_file() -> None:
    async with open_extractor(ExtractionLimits(children=1, cpu_s=1, lost_units=0)) as brief:
        found = await brief.extract(b"<div>" * 1_000_000, name="deep.html")
        assert (await brief.extract(NOTE, name="rules.md")).status is ExtractionStatus.OK
    assert (found.status, "CPU" in found.reason) == (ExtractionStatus.TIMEOUT, True)


async def test_a_reader_that_hangs_is_killed_and_the_document_goes_on() -> None:
    async with open_extractor(ExtractionLimits(children=1, wall_s=4)) as brief:
        await brief.extract(NOTE, name="rules.md")
        async with anyio.create_task_group() as group:
            group.start_soon(_stop)
            found = await brief.extract(LONG, name="long.pdf")
            assert (found.status, len(found.units)) == (ExtractionStatus.OK, 2_000)


async def test_a_reader_that_hangs_before_its_first_page_ends_the_file() -> None:
    async with open_extractor(ExtractionLimits(children=1, wall_s=1)) as brief:
        await brief.extract(NOTE, name="rules.md")
        for child in children():
            child.send_signal(signal.SIGSTOP)
        found = await brief.extract(LONG, name="long.pdf")
        assert (await brief.extract(NOTE, name="rules.md")).status is ExtractionStatus.OK
    assert (found.status, found.reason) == (
        ExtractionStatus.TIMEOUT,
        "It was not read within 1 seconds.",
    )


async def test_the_whole_file_has_a_deadline_too() -> None:
    async with open_extractor(ExtractionLimits(children=1, file_s=1.5, units_at_once=20)) as brief:
        await brief.extract(NOTE, name="rules.md")
        longer = samples.pdf([["Words and words and words."] * 50] * 20_000)
        found = await brief.extract(longer, name="longer.pdf")
    assert found.status is ExtractionStatus.TIMEOUT
    assert 0 < len(found.units) < 20_000


async def test_a_cancelled_reading_leaves_no_child_at_work(extractor: FileExtractor) -> None:
    held: list[psutil.Process] = []
    async with anyio.create_task_group() as group:
        group.start_soon(_extract, extractor)
        held.append(await at_work())
        group.cancel_scope.cancel()
    assert not held[0].is_running()
    assert (await extractor.extract(NOTE, name="rules.md")).status is ExtractionStatus.OK


async def test_files_read_side_by_side_do_not_disturb_each_other() -> None:
    found: dict[int, ExtractedDocument] = {}
    async with open_extractor(ExtractionLimits(children=2, memory_bytes=600 * MB)) as two:

        async def read(number: int) -> None:
            is_bomb = number % 5 == 0
            data = BOMB if is_bomb else f"# Note {number}\n".encode()
            found[number] = await two.extract(data, name="bomb.pdf" if is_bomb else "note.md")

        async with anyio.create_task_group() as group:
            for number in range(10):
                group.start_soon(read, number)
    assert {it for it in found if found[it].status is not ExtractionStatus.OK} == {0, 5}
    assert all(found[it].text == f"# Note {it}\n" for it in found if it % 5)


async def test_small_files_that_come_together_share_one_child() -> None:
    # However slow the machine, no file waits that long here.
    async with open_extractor(ExtractionLimits(children=4, patience_s=600)) as four:
        async with anyio.create_task_group() as group:
            for _ in range(12):
                group.start_soon(_note, four)
        assert len(children()) == 1


async def test_a_file_does_not_wait_for_the_end_of_a_long_one() -> None:
    async with open_extractor(ExtractionLimits(children=2, patience_s=0.01)) as two:
        await _note(two)
        # It reads nothing until it is let go.
        [held] = children()
        held.send_signal(signal.SIGSTOP)
        async with anyio.create_task_group() as group:
            group.start_soon(_note, two)
            await anyio.wait_all_tasks_blocked()
            await _note(two)
            assert len(children()) == 2
            held.send_signal(signal.SIGCONT)


async def test_a_child_that_dies_lets_the_file_that_waits_for_it_go_on() -> None:
    async with open_extractor(ExtractionLimits(children=2, patience_s=600)) as two:
        await _note(two)
        [held] = children()
        held.send_signal(signal.SIGSTOP)
        async with anyio.create_task_group() as group:
            for _ in range(2):
                group.start_soon(_note, two)
            await anyio.wait_all_tasks_blocked()
            held.kill()


async def test_children_are_few_reused_and_gone_at_the_end() -> None:
    async with open_extractor(ExtractionLimits(children=2, max_uses=5)) as two:
        async with anyio.create_task_group() as group:
            for _ in range(12):
                group.start_soon(_note, two)
        assert len(children()) <= 2
        first = {it.pid for it in children()}
        for _ in range(11):
            await _note(two)
        assert {it.pid for it in children()} - first
    assert children() == []


async def test_a_file_that_changes_while_it_is_read_is_noted(tmp_path: Path) -> None:
    place = tmp_path / "long.pdf"
    place.write_bytes(LONG)
    async with (
        open_extractor(ExtractionLimits(children=1)) as one,
        anyio.create_task_group() as group,
    ):

        async def change() -> None:
            await at_work()
            place.write_bytes(b"%PDF-1.7 nothing")

        group.start_soon(change)
        found = await one.extract(place)
        assert found.reason
        assert "The file changed while it was read." in found.facts.notes


async def test_the_server_s_memory_does_not_grow_with_bad_files(extractor: FileExtractor) -> None:
    bomb = samples.zipped({"[Content_Types].xml": "", "word/document.xml": bytes(300_000_000)})
    bad = [(bomb, "bomb.docx"), (LONG[: len(LONG) // 2], "half.pdf"), (bytes(MB), "nothing.bin")]
    for data, name in bad:
        await extractor.extract(data, name=name)
    before = psutil.Process().memory_info().rss
    for _ in range(20):
        for data, name in bad:
            assert (await extractor.extract(data, name=name)).status is not ExtractionStatus.OK
    assert psutil.Process().memory_info().rss - before < 20 * MB


@pytest.mark.parametrize(
    ("deed", "refused"),
    [
        ("write", {errno.EACCES, errno.EPERM, errno.EFBIG}),
        ("write past python", {errno.EACCES, errno.EPERM, errno.EFBIG}),
        ("remove", {errno.EACCES, errno.EPERM}),
        pytest.param("make past python", {errno.EACCES, errno.EPERM}, marks=only_linux),
        pytest.param(
            "connect past python", {errno.ENETUNREACH, errno.EACCES, errno.EPERM}, marks=only_linux
        ),
        ("connect", {errno.EACCES, errno.EPERM}),
        ("start a program", {errno.EACCES, errno.EPERM}),
        pytest.param("swell", {errno.ENOMEM}, marks=only_linux),
        ("open many", {errno.EMFILE}),
    ],
)
async def test_a_confined_process_cannot(tmp_path: Path, deed: str, refused: set[int]) -> None:
    (tmp_path / "kept").write_text("kept", encoding="utf-8")
    script = str(Path(extract_confined.__file__))
    done = await anyio.run_process([sys.executable, script, deed, str(tmp_path)])
    walls, code = done.stdout.decode().split()
    assert int(code) in refused, f"errno {code} behind {walls}"
    assert names(tmp_path) == ["kept"]


async def test_children_step_back_for_the_server(extractor: FileExtractor) -> None:
    (child,) = children()
    assert child.nice() == min(19, os.nice(0) + sandbox.NICENESS)


async def test_children_know_nothing_of_the_server_s_environment(extractor: FileExtractor) -> None:
    (child,) = children()
    assert not {"HOME", "USER", "PECIA_HOME", "PYTHONPATH"} & set(child.environ())


async def _note(extractor: FileExtractor) -> None:
    assert (await extractor.extract(NOTE, name="rules.md")).status is ExtractionStatus.OK


async def _extract(extractor: FileExtractor) -> None:
    await extractor.extract(LONG, name="long.pdf")


async def _stop() -> None:
    # It will not go on by itself, and only killing it helps.
    (await at_work()).send_signal(signal.SIGSTOP)
