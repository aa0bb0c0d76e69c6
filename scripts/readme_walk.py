"""The README, top to bottom, as somebody would who just cloned it: every command as it is printed,
in an empty home, with the console; once from the checkout, once from the wheel that it builds.

    python -m scripts.readme_walk
    python -m scripts.readme_walk --wheel

Installing takes minutes and a network. A team's server is left to `tests/interfaces`.
"""

import argparse
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from pathlib import Path
from urllib.request import urlopen

ROOT = Path(__file__).parents[1]
ADDRESS = "http://127.0.0.1:7324"
"""The address that the README prints; another one is taken where that port is not free."""
BLOCK = re.compile(r"^## (.+?)$|^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
INSTALLED, TEAM = "Start", "Serve a team"
LIMIT_S, START_LIMIT_S = 120, 900


def printed_commands(readme: str) -> list[str]:
    """Every command of one machine, in the order printed, after the ones that install it."""
    section, found = "", list[str]()
    for heading, language, block in BLOCK.findall(readme):
        section = heading or section
        if block and not language and section not in (INSTALLED, TEAM):
            found += block.splitlines()
    return found


def main() -> int:
    given = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    given.add_argument("--wheel", action="store_true", help="Build it, install it, use that.")
    with tempfile.TemporaryDirectory(prefix="pecia-readme-") as folder:
        return _walk(Path(folder), from_wheel=given.parse_args().wheel)


def _walk(folder: Path, *, from_wheel: bool) -> int:
    clone, home = folder / "pecia", folder / "home"
    home.mkdir()
    _clone(clone)
    editor = folder / "editor"
    editor.write_text('#!/bin/sh\necho "# The first day" > "$1"\n')
    editor.chmod(0o755)
    venv = folder / "venv" if from_wheel else clone / ".venv"
    env = {
        "PATH": f"{venv / 'bin'}:{os.environ['PATH']}",
        "HOME": str(home),
        "PECIA_HOME": str(home / "pecia"),
        "EDITOR": str(editor),
    }
    if from_wheel:
        _install_wheel(clone, venv, env)
    start = ["pecia", "start", "examples/handbook", "--no-ask"] if from_wheel else ["make", "start"]
    with _served(start, clone, env) as address:
        _check_console(address)
        failed = [
            it
            for it in printed_commands((clone / "README.md").read_text(encoding="utf-8"))
            if not _run(it.replace(ADDRESS, address), clone, env)
        ]
    print(f"{len(failed)} of the README's commands failed", *failed, sep="\n  ")
    return 1 if failed else 0


def _clone(target: Path) -> None:
    """What git has of this checkout and what it would take: nothing that is ignored."""
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    for name in filter(None, listed.stdout.split("\0")):
        if (ROOT / name).is_file():
            (target / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, target / name)


def _install_wheel(clone: Path, venv: Path, env: Mapping[str, str]) -> None:
    subprocess.run([sys.executable, "-m", "venv", str(venv)], check=True)
    wheels = clone / "dist"
    pip = [str(venv / "bin" / "python"), "-m", "pip", "--quiet", "--disable-pip-version-check"]
    packages = ["packages/pecia-minilm", "packages/pecia-polyglot", "."]
    paths = [it if it == "." else f"./{it}" for it in packages]
    build = [*pip, "wheel", "--no-deps", "-w", str(wheels), *paths]
    subprocess.run(build, cwd=clone, env=env, check=True)
    built = [str(it) for it in wheels.glob("*.whl")]
    subprocess.run([*pip, "install", *built], cwd=clone, env=env, check=True)
    print("installed", *(Path(it).name for it in built))


@contextmanager
def _served(words: list[str], folder: Path, env: Mapping[str, str]) -> Generator[str]:
    """A server that was started as the README says; its address."""
    began = time.monotonic()
    log = folder.parent / "start.log"
    with log.open("wb") as sink:
        process = subprocess.Popen(
            words, cwd=folder, env=env, stdout=sink, stderr=sink, start_new_session=True
        )
        try:
            yield _wait_for_address(process, log)
            print(f"{time.monotonic() - began:6.1f} s in all, from `{' '.join(words)}` on")
        finally:
            os.killpg(process.pid, signal.SIGTERM)
            process.wait(60)


def _wait_for_address(process: "subprocess.Popen[bytes]", log: Path) -> str:
    until = time.monotonic() + START_LIMIT_S
    while time.monotonic() < until and process.poll() is None:
        if found := re.search(r" is at (http://\S+)", log.read_text("utf-8", errors="replace")):
            return found[1]
        time.sleep(0.2)
    raise SystemExit(f"no server came up:\n{log.read_text('utf-8', errors='replace')[-3000:]}")


def _check_console(address: str) -> None:
    with urlopen(f"{address}/console") as answer:
        page = answer.read().decode()
    if "<script" not in page:
        raise SystemExit(f"{address}/console is not the console")
    print(f"   ok  the console at {address}/console")


def _run(command: str, folder: Path, env: Mapping[str, str]) -> bool:
    began = time.monotonic()
    done = subprocess.run(
        command,
        shell=True,
        cwd=folder,
        env=env,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=LIMIT_S,
        check=False,
    )
    state = "   ok" if done.returncode == 0 else f"exit {done.returncode}"
    print(f"{state}  {time.monotonic() - began:5.2f} s  {command}", flush=True)
    if done.returncode:
        print(done.stdout, done.stderr)
    return done.returncode == 0


if __name__ == "__main__":
    raise SystemExit(main())
