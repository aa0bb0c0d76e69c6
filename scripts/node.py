"""Installs what tests need of others into `.tools/`: Node, the conformance suite, real clients.

Run as `python -m scripts.node`. It leaves alone what is there already. Where the registries cannot
be reached it says so and succeeds: the tests that need a tool then say that they were left out.
"""

import json
import platform
import shutil
import subprocess
import sys
import venv
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

TOOLS = Path(__file__).parent.parent / ".tools"
STAMP = "installed.json"
LIMIT_S = 600
AT_ONCE = 3

# The suite and the inspector need Node 22; the registry has it as a package.
NODE = "22.23.3"


@dataclass(frozen=True, slots=True)
class Tool:
    """A folder below `.tools/` and what is in it."""

    name: str
    npm: tuple[str, ...] = ()
    pip: tuple[str, ...] = ()


EVERY_TOOL = (
    Tool("node22", npm=(f"node-{{system}}@{NODE}",)),
    Tool("conformance", npm=("@modelcontextprotocol/conformance@0.2.0-alpha.12",)),
    Tool("inspector", npm=("@modelcontextprotocol/inspector@2.12.0",)),
    Tool(
        "clients",
        npm=(
            "@modelcontextprotocol/sdk@1.32.2",
            "@modelcontextprotocol/client@2.4.0",
            "@ai-sdk/mcp@2.0.93",
            "ai@7.0.169",
        ),
    ),
    Tool("yjs", npm=("yjs@13.6.33", "y-websocket@3.1.0")),
    Tool("langchain", pip=("langchain-mcp-adapters==0.3.2",)),
    Tool("openai-agents", pip=("openai-agents==0.24.0",)),
    Tool("pydantic-ai", pip=("pydantic-ai-slim[mcp]==2.66.0",)),
)


def main() -> int:
    """Install what is missing; 0 also where that was not possible."""
    missing = [tool for tool in EVERY_TOOL if not is_there(tool)]
    with ThreadPoolExecutor(AT_ONCE) as threads:
        done = threads.map(install, missing)
    if failed := [tool.name for tool, is_done in zip(missing, done, strict=True) if not is_done]:
        print(f"not installed: {', '.join(failed)}. Tests that need them will be left out.")
    return 0


def is_there(tool: Tool) -> bool:
    """Whether the tool is installed as it is described here."""
    stamp = TOOLS / tool.name / STAMP
    return stamp.exists() and json.loads(stamp.read_text("utf-8")) == _description(tool)


def install(tool: Tool) -> bool:
    """Install one tool; False, with the reason on the screen, where that fails."""
    folder = TOOLS / tool.name
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    print(f"installing {tool.name}")
    try:
        _npm(tool, folder) if tool.npm else _pip(tool, folder)
    except (OSError, subprocess.SubprocessError) as error:
        said = getattr(error, "stderr", None) or str(error)
        print(f"  {tool.name}: {str(said).strip()[-500:]}")
        return False
    (folder / STAMP).write_text(json.dumps(_description(tool)), "utf-8")
    return True


def node() -> Path:
    """The Node that runs the rest."""
    return TOOLS / "node22" / "node_modules" / f"node-{_system()}" / "bin" / "node"


def _npm(tool: Tool, folder: Path) -> None:
    (folder / "package.json").write_text('{"private": true, "type": "module"}', "utf-8")
    packages = [it.format(system=_system()) for it in tool.npm]
    _run(["npm", "install", "--no-audit", "--no-fund", *packages], folder)


def _pip(tool: Tool, folder: Path) -> None:
    venv.create(folder / "venv", symlinks=True)
    pip = [sys.executable, "-m", "pip", "--python", str(folder / "venv" / "bin" / "python")]
    _run(
        [*pip, "install", "--quiet", "--disable-pip-version-check", "--no-compile", *tool.pip],
        folder,
    )


def _run(words: list[str], folder: Path) -> None:
    subprocess.run(words, cwd=folder, check=True, capture_output=True, text=True, timeout=LIMIT_S)


def _system() -> str:
    machine = {"x86_64": "x64", "amd64": "x64", "aarch64": "arm64", "arm64": "arm64"}
    return f"{platform.system().lower()}-{machine[platform.machine().lower()]}"


def _description(tool: Tool) -> Mapping[str, list[str]]:
    return {"npm": [*tool.npm], "pip": [*tool.pip]}


if __name__ == "__main__":
    sys.exit(main())
