"""The compute worker itself: jobs on its input, answers on its output, one after the other.

It limits itself before the first job and ends with the server.
"""

import ctypes
import gc
import os
import pickle
import resource
import signal
import sys
import traceback
from collections.abc import Callable
from contextlib import suppress
from importlib import import_module
from typing import BinaryIO

from pecia.kernel.compute.wire import (
    HEAD,
    ComputeAnswer,
    ComputeCrashed,
    ComputeDone,
    ComputeImport,
    ComputeJob,
    ComputeOutOfMemory,
    ComputeProgress,
    ComputeRefused,
    pack,
)
from pecia.kernel.errors import PeciaError

# The server answers first, whatever strangers have it compute.
NICENESS = 10
# A job makes many objects and few cycles, and is over soon: with the defaults a third of the time
# of a large document went to the collector.
GC_THRESHOLDS = (100_000, 20, 100)
_PR_SET_PDEATHSIG = 1


def main() -> None:
    memory_bytes, cpu_s = int(sys.argv[1]), int(sys.argv[2])
    # Libraries print where they like; answers go where none of them can write.
    answers = os.fdopen(os.dup(1), "wb", buffering=0)
    os.dup2(2, 1)
    _limit(memory_bytes)
    gc.set_threshold(*GC_THRESHOLDS)

    def tell(answer: ComputeAnswer) -> None:
        waiting = memoryview(pack(answer))
        while waiting:
            waiting = waiting[answers.write(waiting) or 0 :]

    while (body := _receive(sys.stdin.buffer)) is not None:
        _allow_cpu(cpu_s)
        tell(_answer(body, tell))


def _answer(body: bytes, tell: Callable[[ComputeAnswer], None]) -> ComputeAnswer:
    def report(done: int, total: int) -> None:
        tell(ComputeProgress(done, total))

    try:
        job: ComputeImport | ComputeJob = pickle.loads(body)
        if isinstance(job, ComputeImport):
            import_module(job.module)
            gc.freeze()
            return ComputeDone(None)
        named = {"report": report} if job.reports else {}
        return ComputeDone(job.function(*job.arguments, **named))
    except PeciaError as error:
        return ComputeRefused(type(error), error.message, {**error.fields})
    except MemoryError:
        return ComputeOutOfMemory()
    except Exception:  # noqa: BLE001 - whatever it is, the server logs it and the worker ends
        return ComputeCrashed(traceback.format_exc())


def _receive(source: BinaryIO) -> bytes | None:
    head = source.read(HEAD.size)
    if len(head) < HEAD.size:
        return None
    (size,) = HEAD.unpack(head)
    body = source.read(size)
    return body if len(body) == size else None


def _limit(memory_bytes: int) -> None:
    with suppress(OSError):
        os.nice(NICENESS)
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    for kind, most in ((resource.RLIMIT_CORE, 0), (resource.RLIMIT_FSIZE, 0)):
        resource.setrlimit(kind, (most, most))
    # macOS refuses this one.
    with suppress(ValueError, OSError):
        resource.setrlimit(resource.RLIMIT_AS, (memory_bytes, memory_bytes))


def _allow_cpu(more_s: int) -> None:
    """A second bound, should the server be too busy to end this process."""
    used = resource.getrusage(resource.RUSAGE_SELF)
    until = int(used.ru_utime + used.ru_stime) + 1 + more_s
    _, hard = resource.getrlimit(resource.RLIMIT_CPU)
    resource.setrlimit(resource.RLIMIT_CPU, (until, hard))


if __name__ == "__main__":
    # The server is gone, and so is the one who would read the answer.
    with suppress(BrokenPipeError):
        main()
