"""CPU and wall time of twelve commands beside a running server, of this tree and of another one,
and of the nearest commands of other programs (`bench/command_peers.py`).

    python -m bench.commands --before /path/to/other/checkout --out bench/results/commands.json
    python -m bench.commands --datasette datasette --qmd qmd --basic-memory basic-memory

Both trees run with this interpreter, in turns, against one server each; the least of the runs
counts, since anything else on the machine only adds.
"""

import argparse
import json
import os
import platform
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from bench.command_peers import PEERS, PreparedPeer, prepare_peer

ROOT = Path(__file__).parents[1]
HANDBOOK = ROOT / "examples" / "handbook"
LIMIT_S = 120
# The words of this tree, and those of a tree that has no such verb.
COMMANDS: tuple[tuple[str, str], ...] = (
    ("--help", "--help"),
    ("start --help", "start --help"),
    ("source --help", "source --help"),
    ("source add --help", "source add --help"),
    ("call --list", "call --list"),
    ("call lake.list_sources", "call lake.list_sources"),
    ("source list", "source list"),
    ("user list", "user list"),
    ("status", "status"),
    ("search stolen bike", "call lake.search_content --query stolen"),
    (
        "read wiki:handbook/runbooks/stolen-bike.md",
        "call lake.get_file_text --source-id wiki:handbook --key runbooks/stolen-bike.md",
    ),
    ("recall loan bikes", "call memory.cipher_memory_search --query loan"),
)


def main() -> str:
    """Without another tree, this one alone."""
    given = argparse.ArgumentParser()
    given.add_argument("--before", type=Path)
    given.add_argument("--runs", type=int, default=5)
    given.add_argument("--out", type=Path, default=ROOT / "bench" / "results" / "commands.json")
    for name in PEERS:
        given.add_argument(f"--{name}", metavar="PROGRAM", help="the words that start it")
    asked, _ = given.parse_known_args()
    trees = {**({"before": asked.before.resolve()} if asked.before else {}), "after": ROOT}
    with tempfile.TemporaryDirectory(prefix="pecia-commands-") as folder:
        homes = {name: Path(folder) / name for name in trees}
        for name, tree in trees.items():
            _run(tree, homes[name], "start", str(HANDBOOK), "--port", "0", "--detach", "--no-ask")
        try:
            programs = {it: vars(asked)[it.replace("-", "_")] for it in PEERS}
            peers = {
                name: prepare_peer(name, program, Path(folder), HANDBOOK)
                for name, program in programs.items()
                if program
            }
            versions = {name: peer.version for name, peer in peers.items()}
            rows = [_measure(trees, homes, after, before, asked.runs) for after, before in COMMANDS]
            for row, (after, _) in zip(rows, COMMANDS, strict=True):
                row.update(_measure_peers(peers, after, asked.runs))
        finally:
            for name, tree in trees.items():
                _run(tree, homes[name], "stop")
    facts = {"python": platform.python_version(), "machine": platform.machine()}
    found = {
        "runs": asked.runs,
        **facts,
        "load": os.getloadavg()[0],
        "peers": versions,
        "commands": rows,
    }
    asked.out.write_text(json.dumps(found, indent=2) + "\n", encoding="utf-8")
    columns = [*trees, *peers]
    return "\n".join(
        [
            "  ".join(f"{it:>12}" for it in columns),
            *(
                "  ".join(_format(row.get(it)) for it in columns) + f"  {row['command']}"
                for row in rows
            ),
        ]
    )


def _format(times: dict[str, Any] | None) -> str:
    """CPU and wall seconds; a dash where a program has nothing like it."""
    return f"{'-':>12}" if times is None else f"{times['cpu_s']:>5.2f} {times['wall_s']:>6.2f}"


def _measure_peers(peers: dict[str, PreparedPeer], command: str, runs: int) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, peer in peers.items():
        if (words := PEERS[name].words.get(command)) is None:
            continue
        timed = [peer.run(words)[:2] for _ in range(runs)]
        found[name] = {"words": f"{name} {words}", **_least(timed)}
    return found


def _least(timed: list[tuple[float, float]]) -> dict[str, float]:
    return {
        "cpu_s": round(min(cpu for cpu, _ in timed), 3),
        "wall_s": round(min(wall for _, wall in timed), 3),
    }


def _measure(
    trees: dict[str, Path], homes: dict[str, Path], after: str, before: str, runs: int
) -> dict[str, Any]:
    words = {"before": before, "after": after}
    timed: dict[str, list[tuple[float, float]]] = {name: [] for name in trees}
    for _ in range(runs):
        for name, tree in trees.items():
            timed[name].append(_run(tree, homes[name], *words[name].split()))
    least = {name: {"words": words[name], **_least(them)} for name, them in timed.items()}
    return {"command": f"pecia {after}", **least}


def _run(tree: Path, home: Path, *words: str) -> tuple[float, float]:
    """CPU and wall seconds of one command."""
    own = {"PATH": os.environ["PATH"], "HOME": str(home.parent), "PECIA_HOME": str(home)}
    used, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    subprocess.run(
        [sys.executable, "-m", "pecia", *words],
        env={**own, "PYTHONPATH": str(tree / "src")},
        cwd=home.parent,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        timeout=LIMIT_S,
        check=False,
    )
    now = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = now.ru_utime + now.ru_stime - used.ru_utime - used.ru_stime
    return cpu, time.monotonic() - began


if __name__ == "__main__":
    print(main())
