"""An environment with FastMCP in it, made on first use. We do not depend on it."""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
VENV = ROOT / ".tools" / "fastmcp" / "venv"
WANTED = ("fastmcp>=4,<5", "uvloop", "httptools")
LIMIT_S = 600


def fastmcp_python() -> tuple[Path | None, str]:
    """The Python that has FastMCP; without one, why there is none."""
    python = VENV / "bin" / "python"
    try:
        if not _has(python):
            print("installing FastMCP beside us, to measure against it")
            _run([sys.executable, "-m", "venv", str(VENV)])
            _run([str(python), "-m", "pip", "install", "--quiet", *WANTED])
    except (subprocess.SubprocessError, OSError) as error:
        return None, f"FastMCP could not be installed: {error}"
    return python, ""


def _has(python: Path) -> bool:
    words = [str(python), "-c", "import fastmcp"]
    return python.exists() and subprocess.run(words, check=False, timeout=60).returncode == 0


def _run(words: list[str]) -> None:
    subprocess.run(words, check=True, timeout=LIMIT_S, capture_output=True)
