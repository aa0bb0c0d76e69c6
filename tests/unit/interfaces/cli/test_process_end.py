"""A command ends as the interpreter would end it, and does not destroy its modules first."""

import subprocess
import sys
from pathlib import Path

import pytest

PROGRAM = """
import atexit, sys, threading
from pecia.interfaces.cli.output.streams import end_process

class Destroyed:
    def __del__(self):
        sys.stderr.write("destroyed")

kept = Destroyed()
ended = threading.Event()
atexit.register(lambda: sys.stdout.write("registered\\n"))
threading.Thread(target=lambda: (ended.wait(), sys.stdout.write("thread\\n"))).start()
sys.stdout.write("x" * 100_000 + "\\n")
threading.Timer(0, ended.set).start()
"""


@pytest.mark.parametrize("code", [0, 3])
def test_threads_callbacks_and_output_are_waited_for_and_nothing_is_destroyed(code: int) -> None:
    ended = [
        subprocess.run(
            [sys.executable, "-c", f"{PROGRAM}\n{how}({code})"], capture_output=True, env={}
        )
        for how in ("end_process", "sys.exit")
    ]
    ours, interpreter = ended
    assert (ours.returncode, ours.stdout) == (interpreter.returncode, interpreter.stdout)
    assert ours.stdout.endswith(b"x\nthread\nregistered\n")
    assert (ours.stderr, interpreter.stderr) == (b"", b"destroyed")


def test_output_that_nobody_takes_is_told_as_the_interpreter_tells_it() -> None:
    program = "import sys; from pecia.interfaces.cli.output.streams import end_process; print(1)"
    with Path("/dev/full").open("wb") as full:
        ours, interpreter = (
            subprocess.run(
                [sys.executable, "-c", f"{program}; {how}(0)"],
                stdout=full,
                stderr=subprocess.PIPE,
                env={},
            )
            for how in ("end_process", "sys.exit")
        )
    assert interpreter.returncode == 120
    assert (ours.returncode, ours.stderr) == (interpreter.returncode, interpreter.stderr)
