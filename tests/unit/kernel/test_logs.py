"""What a log line holds, where it goes, and what never gets into it."""

import io
import json
import logging
import stat
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import anyio
import anyio.to_thread
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pecia.kernel import logs
from pecia.kernel.errors import InvalidInput, NotFound, UpstreamError
from pecia.kernel.settings.kernel import KernelSettings

LOG = logs.Log("pecia.test")


class JsonLines(io.StringIO):
    """A stream that gives its JSON lines back."""

    def records(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.getvalue().splitlines()]

    def only(self) -> dict[str, Any]:
        (record,) = self.records()
        return record


@contextmanager
def hearing(**given: object) -> Generator[JsonLines]:
    heard = JsonLines()
    options = KernelSettings.model_validate({"log_format": "json", **given})
    with logs.configure_logging(options, stream=heard):
        yield heard


def test_a_record_has_time_level_action_and_its_fields() -> None:
    with hearing() as heard:
        LOG.info("store.opened", took_ms=3, name="a b")
    record = heard.only()
    assert record.pop("time").endswith("Z")
    assert record == {"level": "info", "action": "store.opened", "took_ms": 3, "name": "a b"}


def test_a_library_s_record_has_an_action_too() -> None:
    with hearing() as heard:
        logging.getLogger("uvicorn.error").warning("port %s is taken", 80)
    record = heard.only()
    assert (record["action"], record["message"]) == ("uvicorn.error", "port 80 is taken")


def test_libraries_are_heard_from_warning_on_and_we_from_the_level_set() -> None:
    with hearing(log_level="info") as heard:
        logging.getLogger("httpx").info("GET https://x")
        LOG.debug("a.b")
        LOG.info("c.d")
    assert [it["action"] for it in heard.records()] == ["c.d"]


def test_a_field_that_bears_a_name_of_ours_replaces_nothing() -> None:
    with hearing() as heard:
        LOG.info("a.b", level=9)
    assert (heard.only()["level"], heard.only()["level_"]) == ("info", 9)


def test_a_request_is_one_line_with_what_the_inside_noted() -> None:
    with hearing() as heard, logs.log_request("tools/call", request_id="r1") as line:
        line.note(principal="ana", tool="lake.search_content", rows=3)
    record = heard.only()
    assert record["took_ms"] >= 0
    assert {**record, "time": "", "took_ms": 0} == {
        "time": "",
        "level": "info",
        "action": "tools/call",
        "request_id": "r1",
        "principal": "ana",
        "tool": "lake.search_content",
        "rows": 3,
        "status": "ok",
        "took_ms": 0,
    }


def test_a_failure_that_was_raised_is_the_status_and_goes_on() -> None:
    with hearing() as heard:
        with pytest.raises(NotFound), logs.log_request("tools/call", request_id="r1"):
            raise NotFound("no such file")
        record = heard.only()
    assert (record["status"], record["level"]) == ("NOT_FOUND", "info")
    assert "traceback" not in record


def test_a_failure_that_was_answered_is_the_status() -> None:
    with hearing() as heard, logs.log_request("tools/call", request_id="r1") as line:
        line.fail(UpstreamError("they are down"))
    record = heard.only()
    assert (record["status"], record["level"]) == ("UPSTREAM_ERROR", "warning")


def test_a_surprise_is_logged_with_its_traceback() -> None:
    with hearing() as heard:
        with pytest.raises(ZeroDivisionError), logs.log_request("tools/call", request_id="r1"):
            raise ZeroDivisionError
        record = heard.only()
    assert (record["status"], record["level"]) == ("INTERNAL_ERROR", "error")
    assert record["traceback"].endswith("ZeroDivisionError")


@pytest.mark.anyio
@pytest.mark.parametrize("anyio_backend", ["asyncio"])
async def test_a_caller_who_goes_away_is_a_cancelled_request() -> None:
    line = logs.log_request("tools/call", request_id="r1")
    with hearing() as heard, anyio.CancelScope() as scope, line:
        scope.cancel()
        await anyio.sleep_forever()
    assert heard.only()["status"] == "CANCELLED"


@pytest.mark.anyio
@pytest.mark.parametrize("anyio_backend", ["asyncio"])
async def test_each_of_two_requests_at_once_keeps_its_own_id_in_tasks_and_threads() -> None:
    both_inside = [anyio.Event(), anyio.Event()]

    async def serve(me: int) -> None:
        with logs.log_request("tools/call", request_id=f"r{me}"):
            both_inside[me].set()
            await both_inside[1 - me].wait()
            await anyio.to_thread.run_sync(lambda: LOG.info("in.thread", me=me))

    with hearing() as heard:
        async with anyio.create_task_group() as group:
            group.start_soon(serve, 0)
            group.start_soon(serve, 1)
    inner = [it for it in heard.records() if it["action"] == "in.thread"]
    assert sorted((it["request_id"], it["me"]) for it in inner) == [("r0", 0), ("r1", 1)]


def test_outside_a_request_there_is_no_id() -> None:
    with hearing() as heard:
        with logs.log_request("a", request_id="r1"):
            LOG.info("inside")
        LOG.info("outside")
    ids = {it["action"]: it.get("request_id") for it in heard.records()}
    assert ids == {"inside": "r1", "a": "r1", "outside": None}


SECRETS = [
    "peciapat_Zm9vYmFy-_1234",
    "kdblpat_abcdef012345",
    "sk-ant-api03-abcdefgh12345678",
    "sk-proj-ABCDEFGHIJKL",
    "ghp_abcdefghijklmnop1234",
    "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiJhbmEifQ.c2lnbmF0dXJl",
]


@pytest.mark.parametrize("secret", SECRETS)
@pytest.mark.parametrize(
    "around", ["{}", "before {} after", "Authorization: Bearer {}", "x={},y", "[{}]"]
)
def test_what_looks_like_a_secret_is_redacted(secret: str, around: str) -> None:
    shown = logs.redact(around.format(secret))
    assert secret not in shown
    assert secret[-8:] not in shown
    assert logs.REDACTED in shown


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("Bearer abc.def", "Bearer [redacted]"),
        ("authorization: bearer peciapat_abc", "authorization: Bearer [redacted]"),
        ("Basic YW5hOmh1bnRlcjIy", "Basic [redacted]"),
        ("postgresql://ana:p@ss@db/x", "postgresql://ana:[redacted]@db/x"),
        ("GET /files/download?token=abc&x=1", "GET /files/download?token=[redacted]&x=1"),
        ('{"password": "hunter22"}', '{"password": "[redacted]"}'),
        ("api_key=hunter22;", "api_key=[redacted];"),
    ],
)
def test_a_redacted_text_keeps_what_is_no_secret(text: str, shown: str) -> None:
    assert logs.redact(text) == shown


@pytest.mark.parametrize(
    "text",
    [
        "a basic search",
        "task-force",
        "10 tokens",
        "http://host:80/a@b",
        "key=docs/a.pdf",
        "desk-top",
    ],
)
def test_plain_words_are_left_alone(text: str) -> None:
    assert logs.redact(text) == text


@settings(max_examples=50, deadline=None)
@given(st.text(), st.sampled_from(SECRETS), st.text())
def test_no_text_around_a_secret_carries_it_through(before: str, secret: str, after: str) -> None:
    once = logs.redact(f"{before} {secret} {after}")
    assert secret not in once
    assert logs.redact(once) == once


def test_no_part_of_a_record_carries_a_secret() -> None:
    secret = SECRETS[0]
    with hearing() as heard:
        LOG.info(f"tools/{secret}", text=secret, nested={"deep": [secret], secret: 1})
        LOG.info(
            "a.b", password="hunter22", session_token="hunter22", headers={"Cookie": "hunter22"}
        )
        logging.getLogger("lib").error("could not use %s", secret)
        LOG.failure("a.b", ValueError(secret))
        with logs.log_request("a.b", request_id=secret):
            pass
    assert len(heard.records()) == 5
    assert secret not in heard.getvalue()
    assert "hunter22" not in heard.getvalue()


def test_a_count_of_tokens_is_no_secret() -> None:
    with hearing() as heard:
        LOG.info("a.b", model_tokens=5, key="docs/a.pdf")
    assert (heard.only()["model_tokens"], heard.only()["key"]) == (5, "docs/a.pdf")


def test_a_field_too_long_to_be_a_fact_says_how_much_is_missing() -> None:
    with hearing() as heard:
        LOG.info("a.b", text="x" * (logs.MAX_FIELD_CHARS + 7))
    assert heard.only()["text"] == "x" * logs.MAX_FIELD_CHARS + "… (+7)"


anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


@settings(max_examples=50, deadline=None)
@given(st.text(min_size=1), st.dictionaries(st.text(min_size=1), anything, max_size=4))
def test_every_record_is_one_line_whatever_it_says(action: str, fields: dict[str, Any]) -> None:
    assert len(lines("json", action, fields)) == 1
    assert strictly(lines("json", action, fields)[0])["level"] == "info"
    assert len(lines("text", action, fields)) == 1
    assert all(it.isprintable() for it in lines("text", action, fields))


def strictly(line: str) -> dict[str, Any]:
    """JSON as others read it: without NaN and Infinity."""

    def refuse(name: str) -> None:
        raise AssertionError(f"{name} is not JSON")

    return json.loads(line, parse_constant=refuse)


def lines(log_format: str, action: str, fields: Mapping[str, Any]) -> list[str]:
    with hearing(log_format=log_format) as heard:
        LOG.emit(logging.INFO, action, fields)
    return heard.getvalue().removesuffix("\n").splitlines()


def test_text_is_for_people() -> None:
    with (
        hearing(log_format="text") as heard,
        logs.log_request("tools/call", request_id="r1") as line,
    ):
        line.note(tool="search", query="two words", rows=3)
    time, rest = heard.getvalue().split(" ", 1)
    assert time.endswith("Z")
    assert rest.startswith(
        'INFO    tools/call request_id=r1 tool=search query="two words" rows=3 status=ok took_ms='
    )


def test_a_forged_line_in_an_exception_does_not_pass_for_a_record() -> None:
    with hearing(log_format="text") as heard:
        LOG.failure("a.b", ValueError("x\n2026-01-01T00:00:00.000Z INFO fake\x1b[2J"))
    first, *trace = heard.getvalue().splitlines()
    assert " ERROR " in first
    assert trace
    assert all(it.startswith("  ") and it.isprintable() for it in trace)


def test_records_go_to_stderr_and_never_to_stdout(capfd: pytest.CaptureFixture[str]) -> None:
    with logs.configure_logging(KernelSettings()):
        LOG.warning("a.b")
    out, err = capfd.readouterr()
    assert out == ""
    assert "a.b" in err


def test_a_file_is_put_aside_when_it_is_full_and_few_are_kept(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "pecia.log"
    with hearing(log_file=path, log_file_max_bytes=400, log_files_kept=2) as heard:
        for number in range(40):
            LOG.info("a.b", number=number)
    assert {it.name for it in path.parent.iterdir()} == {"pecia.log", "pecia.log.1", "pecia.log.2"}
    assert all(it.stat().st_size <= 400 for it in path.parent.iterdir())
    kept = [it for name in (".2", ".1", "") for it in numbers(Path(f"{path}{name}"))]
    assert kept == list(range(kept[0], 40))
    assert len(heard.records()) == 40


def numbers(path: Path) -> list[int]:
    return [json.loads(line)["number"] for line in path.read_text(encoding="utf-8").splitlines()]


def test_only_the_owner_reads_the_log_file(tmp_path: Path) -> None:
    path = tmp_path / "pecia.log"
    with hearing(log_file=path):
        LOG.info("a.b")
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_a_second_process_has_a_file_of_its_own(tmp_path: Path) -> None:
    options = KernelSettings(log_file=tmp_path / "pecia.log")
    with logs.configure_logging(options, stream=JsonLines(), process="worker"):
        LOG.info("a.b")
    assert [it.name for it in tmp_path.iterdir()] == ["pecia.worker.log"]


def test_a_log_file_that_cannot_be_written_names_the_setting(tmp_path: Path) -> None:
    with (
        pytest.raises(InvalidInput, match="cannot be written") as error,
        hearing(log_file=tmp_path),
    ):
        pass
    assert error.value.fields["field"] == "log_file"


def test_after_the_block_logging_is_as_it_was() -> None:
    root, ours = logging.getLogger(), logging.getLogger("pecia")
    before = root.handlers[:], root.level, ours.level
    with hearing(log_level="debug"):
        assert root.handlers != before[0]
    assert (root.handlers[:], root.level, ours.level) == before


def test_a_routine_request_is_told_only_when_it_fails() -> None:
    with hearing() as heard:
        with logs.log_request("http", request_id="1") as line:
            line.is_routine = True
        with logs.log_request("http", request_id="2") as line:
            line.is_routine = True
            line.fail(UpstreamError("the database is not reachable"))
    assert heard.only()["status"] == "UPSTREAM_ERROR"
