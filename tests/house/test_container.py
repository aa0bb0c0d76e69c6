"""The container: what its files name is there, and it is built and run where there is a builder.

Its steps without a container are those of tests/interfaces/test_cli_commands.py.
"""

import re
import shutil
import subprocess
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from ruamel.yaml import YAML

from pecia.app.settings import load_app_settings

ROOT = Path(__file__).parents[2]
DOCKERFILE = (ROOT / "Dockerfile").read_text(encoding="utf-8")
VARIABLE = re.compile(r"\$\{\w+(?::-([^}]*)|:\?[^}]*)?\}")
COPIED = re.compile(r"^COPY (?!--from)(.+) \S+$", re.MULTILINE)


def compose() -> Any:
    return YAML(typ="safe").load((ROOT / "compose.yml").read_text(encoding="utf-8"))  # pyright: ignore[reportUnknownMemberType]


def has_builder() -> bool:
    docker = shutil.which("docker")
    if docker is None:
        return False
    asked = subprocess.run([docker, "info"], capture_output=True, timeout=30, check=False)
    return asked.returncode == 0


def test_everything_that_is_copied_is_there_and_not_ignored() -> None:
    sources = [it for line in COPIED.findall(DOCKERFILE) for it in line.split()]
    kept = {
        line[1:]
        for line in (ROOT / ".dockerignore").read_text(encoding="utf-8").splitlines()
        if line.startswith("!")
    }
    assert len(sources) > 5
    for it in sources:
        assert (ROOT / it).exists(), it
        assert any(it == one or it.startswith(f"{one}/") for one in kept), it


def test_the_configuration_of_the_image_is_one() -> None:
    file = ROOT / "examples" / "container.yml"
    found = load_app_settings(
        flags={"mode": "server"}, environ={}, project_file=None, user_file=file
    )
    assert found.warnings == ()
    assert f"EXPOSE {found.kernel.port}" in DOCKERFILE
    assert f"VOLUME {found.kernel.home}" in DOCKERFILE


def test_server_and_worker_share_settings_and_home_and_the_port_is_loopbacks() -> None:
    services = compose()["services"]
    assert {*services} == {"db", "server", "worker"}
    server, worker = services["server"], services["worker"]
    for it in ("environment", "volumes", "image", "read_only", "cap_drop"):
        assert server[it] == worker[it]
    # As compose fills it in: the default, or what somebody wrote into .env.
    environ = {
        it: VARIABLE.sub(lambda found: found[1] or "word", value)
        for it, value in server["environment"].items()
    }
    assert (
        load_app_settings(
            flags={"mode": "server"}, environ=environ, project_file=None, user_file=None
        ).warnings
        == ()
    )
    assert all(it.startswith("127.0.0.1:") for it in server["ports"])
    assert "ports" not in services["db"]


@pytest.mark.slow
@pytest.mark.timeout(1800)
@pytest.mark.skipif(not has_builder(), reason="no Docker that builds")
def test_the_image_builds_and_has_the_program_and_the_console() -> None:
    name = f"pecia-test-{uuid4().hex[:8]}"
    subprocess.run(["docker", "build", "--quiet", "--tag", name, str(ROOT)], check=True)
    try:
        run = ["docker", "run", "--rm", "--read-only", "--tmpfs", "/tmp", name]
        said = subprocess.run([*run, "--version"], capture_output=True, text=True, check=True)
        assert said.stdout.strip()
        look = "import pecia, pathlib; p = pathlib.Path(pecia.__file__).parent; "
        look += "print((p / 'interfaces/web/static/index.html').exists())"
        python = [*run[:-1], "--entrypoint", "python", name, "-c", look]
        found = subprocess.run(python, capture_output=True, text=True, check=True)
        assert found.stdout.strip() == "True"
    finally:
        subprocess.run(["docker", "rmi", "--force", name], check=False, capture_output=True)
