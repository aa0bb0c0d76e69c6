"""Whether this is the long run, and where its figures go."""

import json
import os
import platform
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

SOAK = os.environ.get("PECIA_SOAK") == "1"

RESULTS = Path(__file__).parents[1] / "bench" / "results"


def record(name: str, figures: dict[str, Any]) -> None:
    """Write the figures of a long run; a short one proves, but is not a figure."""
    if not SOAK:
        return
    RESULTS.mkdir(parents=True, exist_ok=True)
    about = {
        "at": datetime.now(UTC).isoformat(timespec="seconds"),
        "cores": os.cpu_count(),
        "machine": platform.machine(),
        "python": platform.python_version(),
    }
    text = json.dumps({**about, **figures}, indent=1, sort_keys=True)
    (RESULTS / f"soak-{name}.json").write_text(text + "\n", encoding="utf-8")
