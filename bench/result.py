"""One result: figures as JSON, with the machine named, read by people and compared by scripts."""

import json
import os
import platform
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parent / "results"


def write(name: str, figures: dict[str, Any]) -> Path:
    """Write the figures of one bench and say where."""
    FOLDER.mkdir(exist_ok=True)
    about = {
        "at": datetime.now(UTC).isoformat(timespec="seconds"),
        "cores": os.cpu_count(),
        "processor": _processor(),
        "python": platform.python_version(),
        "load": round(os.getloadavg()[0], 1),
    }
    path = FOLDER / f"{name}.json"
    path.write_text(json.dumps({"machine": about, **figures}, indent=1) + "\n", encoding="utf-8")
    return path


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.processor()
    names = [it.split(":", 1)[1].strip() for it in lines if it.startswith("model name")]
    return names[0] if names else platform.machine()
