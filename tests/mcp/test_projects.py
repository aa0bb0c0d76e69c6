"""Several projects on one server: `pecia mcp` means the one that it was started for."""

import json
import shutil
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from pecia.interfaces.cli.server.lock import claim_home, home_lock_path, write_lock
from pecia.kernel.identity import owner_token
from tests.mcp.conftest import Serve, Served
from tests.mcp.test_shim import lock_at
from tests.mcp.test_stdio import HELLO, READY, at, heard, pecia

pytestmark = pytest.mark.anyio

TOOLS = ("--toolset", "wiki")


@contextmanager
def projects(place: Path, served: Served) -> Generator[tuple[Path, ...]]:
    """Three projects, each with a document of its own, beside the home that the server holds."""
    home = place / "at"
    home.mkdir()
    write_lock(home_lock_path(home), lock_at(served, home))
    # That a project becomes a space takes the owner's yes, and so the owner's token.
    shutil.copy(served.app.settings.kernel.home / owner_token.FILE, home)
    found = tuple(place / name for name in ("north", "south", "west"))
    for it in found:
        (it / ".pecia").mkdir(parents=True)
        (it / "deep" / "er").mkdir(parents=True)
        (it / f"of-{it.name}.md").write_text(f"# {it.name}\n", "utf-8")
    with claim_home(home):
        yield found


async def answer(
    *words: str,
    cwd: Path,
    home: Path,
    env: Mapping[str, str] | None = None,
    said: Mapping[str, str] | None = None,
    config: Path | None = None,
) -> dict[str, Any]:
    """The result of a list without words about the space, unless the test says them."""
    params = {"name": "list_documents", "arguments": dict(said or {})}
    call = {"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": params}
    around = {"PECIA_HOME": str(home), "HOME": str(home.parent / "ana"), **(env or {})}
    before = ("--config", str(config)) if config else ()
    words = (*before, "mcp", *words, *TOOLS)
    done = await pecia(*words, frames=[HELLO, READY, call], cwd=cwd, env=around)
    (found,) = [it for it in heard(done) if it["id"] == 7]
    return found["result"]


def names(result: dict[str, Any]) -> list[str]:
    assert not result.get("isError"), result
    return [it["docName"] for it in result["structuredContent"]["documents"]]


async def test_a_call_without_a_space_means_the_project_that_the_editor_is_in(
    serve: Serve, tmp_path: Path
) -> None:
    home = tmp_path / "at"
    async with serve() as served:
        with projects(tmp_path, served) as every:
            for _ in range(2):
                # Again when all of them are known, and have their locks.
                for it in every:
                    for cwd in (it, it / "deep" / "er"):
                        assert names(await answer(cwd=cwd, home=home)) == [f"of-{it.name}"]
            # What a call says itself counts more.
            assert names(await answer(cwd=every[0], home=home, said={"space": "south"})) == [
                "of-south"
            ]
            assert names(await answer(cwd=every[0], home=home, said={"cwd": str(every[2])})) == [
                "of-west"
            ]


async def test_a_space_is_named_by_a_flag_or_a_variable_where_the_folder_is_none(
    serve: Serve, tmp_path: Path
) -> None:
    home = tmp_path / "at"
    async with serve() as served:
        with projects(tmp_path, served) as every:
            for it in every:
                await answer(cwd=it, home=home)
            by_flag = await answer("--space", "south", cwd=tmp_path, home=home)
            assert names(by_flag) == ["of-south"]
            assert names(await answer("--space", str(every[1]), cwd=tmp_path, home=home)) == [
                "of-south"
            ]
            env = {"PECIA_SPACE": "west"}
            assert names(await answer(cwd=tmp_path, home=home, env=env)) == ["of-west"]
            # It counts more than the folder, and holds at a server that is named by its port.
            assert names(await answer("--space", "south", cwd=every[0], home=home)) == ["of-south"]
            by_port = await answer(*at(served), "--space", "west", cwd=every[0], home=home)
            assert names(by_port) == ["of-west"]


async def test_a_space_that_does_not_exist_is_refused_at_once_with_those_that_do(
    serve: Serve, tmp_path: Path
) -> None:
    home = tmp_path / "at"
    async with serve() as served:
        with projects(tmp_path, served) as every:
            for it in every:
                await answer(cwd=it, home=home)
            around = {"PECIA_HOME": str(home), "HOME": str(home.parent / "ana")}
            for words in (("--space", "nowhere"), (*at(served), "--space", "nowhere")):
                done = await pecia("mcp", *words, frames=[HELLO], cwd=tmp_path, env=around)
                assert done.returncode == 1
                (refused,) = heard(done)
                assert refused["id"] == HELLO["id"]
                message = refused["error"]["message"]
                assert "'nowhere'" in message
                assert all(it.name in message for it in every)
                assert sorted(refused["error"]["data"]["allowed"]) == sorted(
                    it.name for it in every
                )
            # A call that names one is answered the same way.
            absent = await answer(cwd=every[0], home=home, said={"space": "nowhere"})
            error = absent["structuredContent"]["error"]
            assert sorted(error["allowed"]) == sorted(it.name for it in every)


async def test_outside_of_every_project_the_home_space_is_meant(
    serve: Serve, tmp_path: Path
) -> None:
    home = tmp_path / "at"
    async with serve() as served:
        with projects(tmp_path, served) as every:
            for it in every:
                await answer(cwd=it, home=home)
            outside = tmp_path / "outside"
            outside.mkdir()
            config = tmp_path / "mine.yml"
            config.write_text(f"wiki:\n  home_space: {every[2]}\n", "utf-8")
            assert names(await answer(cwd=outside, home=home, config=config)) == ["of-west"]
            # Without one it is for the call to say, and the answer names what there is.
            refused = await answer(cwd=outside, home=home)
            allowed = json.dumps(refused["structuredContent"]["error"]["allowed"])
            assert all(it.name in allowed for it in every)


async def test_a_project_that_the_server_does_not_serve_is_not_another(
    serve: Serve, tmp_path: Path
) -> None:
    """One space is there, and it is not the one that the editor is in."""
    home = tmp_path / "at"
    async with serve() as served:
        with projects(tmp_path, served) as every:
            await answer(cwd=every[0], home=home)
            off = {"OK_MCP_AUTOSTART": "0"}
            refused = await answer(cwd=every[1], home=home, env=off)
            assert refused["isError"]
            assert str(every[1]) in refused["content"][0]["text"]
