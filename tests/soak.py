"""Whether this is the long run, how much it tries, and where its figures go.

`make soak` sets PECIA_SOAK=1, which is read here and nowhere else.
"""

import os
from typing import Any

from bench import result

SOAK = os.environ.get("PECIA_SOAK") == "1"

# Worlds and frames are those of these seeds. Two soaks that begin elsewhere can share the work.
FIRST = int(os.environ.get("PECIA_SOAK_FIRST", "0"))
WORLDS = int(os.environ.get("PECIA_SOAK_WORLDS", "50000" if SOAK else "100"))
ROUNDS = int(os.environ.get("PECIA_SOAK_ROUNDS", "50" if SOAK else "1"))
SCHEDULES = int(os.environ.get("PECIA_SOAK_SCHEDULES", "2000" if SOAK else "2"))
FRAMES = int(os.environ.get("PECIA_SOAK_FRAMES", "1000000" if SOAK else "1000"))


def record(name: str, figures: dict[str, Any]) -> None:
    """Write the figures of a long run; a short one proves, but is not a figure."""
    if SOAK:
        result.write(f"soak-{name}", figures)
