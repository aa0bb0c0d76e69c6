"""The parent of postgres: starts it, restarts it when it is killed, stops it after its last user.

A program of its own, `python -I -S keeper.py ROOT SOCKETS POSTGRES UID GID GRACE_S PIPE CRASHES`,
and a small one: it imports nothing of Pecia, and of the standard library only what is built in.
It never connects to the database, and never takes a pid for proof that a server lives.

On PIPE it reports to its starter how this ended: `busy` (another keeper is at work) or `failed`
and why; where that is nothing, postgres ended by itself and its log says why.
"""

# Without pathlib and contextlib, which would be most of what this process weighs.
# ruff: noqa: PTH108, PTH115, PTH116, PTH123, PTH208, SIM105

import _thread
import fcntl
import os
import select
import signal
import sys
import time

LOG_LIMIT_BYTES = 8 << 20
LOG_CHECK_S = 600.0
BUSY_AFTER_S = 2.0
ORPHAN_AFTER_S = 0.5
# Buffers are small and written in seconds: what takes longer hangs. To stop at once loses nothing.
STOP_STEPS = ((signal.SIGINT, 12.0), (signal.SIGQUIT, 10.0))
GRACE_STEP_S = 0.1
CRASH_LIMIT = 5
STEADY_AFTER_S = 60.0
PR_SET_PDEATHSIG = 1

# Nothing of the caller's environment reaches postgres: PGPORT or LANG would change what it does.
ENVIRONMENT = {"LC_ALL": "C", "TZ": "UTC"}


def main(arguments: list[str]) -> None:
    """Keep one server for as long as anybody holds it."""
    pipe, crashes = (int(it) for it in arguments[-2:])
    os.set_inheritable(pipe, False)
    if not crashes:
        _detach()
    try:
        _report(pipe, _run(arguments))
    except OSError as error:
        _report(pipe, f"failed: {error}")


def _run(arguments: list[str]) -> str:
    """From the first lock to the last holder. Returns how it ended."""
    root, sockets, postgres, uid, gid, grace_s, _, crashes = arguments
    _enter_folder(root)
    if not _take(_open_lock("keeper.lock"), BUSY_AFTER_S):
        return "busy"
    server_lock = _open_lock("server.lock")
    _outlast_orphans(server_lock)
    _remove_leftovers(sockets)
    serving_lock = _open_lock("serving.lock")
    if not _take(serving_lock, BUSY_AFTER_S):
        return "busy"
    began = time.monotonic()
    child = _start(root, postgres, (int(uid), int(gid)), server_lock)
    status = _supervise(child, float(grace_s))
    if status is None:
        # Before postgres hears of it: whoever comes now must wait for the next server.
        os.close(serving_lock)
        _stop(child)
        return "stopped"
    if os.WIFSIGNALED(status) and int(crashes) < CRASH_LIMIT:
        steady = time.monotonic() - began > STEADY_AFTER_S
        _restart(crashes=1 if steady else int(crashes) + 1)
    return "failed"


def _detach() -> None:
    """Leave the caller's family and terminal, so that neither ends us nor has to bury us."""
    if os.fork():
        os._exit(0)
    os.setsid()


def _enter_folder(root: str) -> None:
    """Move into the cluster's folder, and write to its log from now on."""
    os.chdir(root)
    os.umask(0o077)
    _rotate_log()
    log = os.open("server.log", os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    os.dup2(log, 1)
    os.dup2(log, 2)
    os.close(log)


def _open_lock(name: str) -> int:
    return os.open(name, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)


def _take(lock: int, limit_s: float) -> bool:
    """Take the lock. A status check may have it for an instant, so retry for a while."""
    deadline = time.monotonic() + limit_s
    while True:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() > deadline:
                return False
            time.sleep(0.01)
        else:
            return True


def _outlast_orphans(server_lock: int) -> None:
    """Wait until no process of an earlier server is left, asking its postmaster to stop.

    Where the OS tells postgres that its keeper died, it is stopping already.
    """
    if _take(server_lock, ORPHAN_AFTER_S):
        return
    for number, limit_s in STOP_STEPS:
        postmaster = _postmaster()
        if postmaster:
            os.kill(postmaster, number)
        if _take(server_lock, limit_s):
            return
    postmaster = _postmaster()
    whose = f"process {postmaster}" if postmaster else "processes of a server that was killed"
    raise OSError(f"the data directory is still in use by {whose}, which did not end when asked")


def _remove_leftovers(sockets: str) -> None:
    """Remove what a killed server left, for its pid may be somebody else's by now.

    Safe because we have server.lock: not one process of that server lives. One that was started
    by hand, and has no lock, is left alone; if we miss it, postgres finds its shared memory.
    """
    stranger = _postmaster()
    if stranger:
        raise OSError(f"the data directory is still in use by process {stranger}")
    names = ["data/postmaster.pid"]
    names += [f"{sockets}/{name}" for name in os.listdir(sockets) if name.startswith(".s.PGSQL")]
    for name in names:
        try:
            os.unlink(name)
        except FileNotFoundError:
            pass


def _postmaster() -> int:
    """The pid in postmaster.pid, if that process works in our data directory; else 0."""
    try:
        with open("data/postmaster.pid", encoding="ascii") as file:
            pid = int(file.readline())
        return pid if _works_here(pid) else 0
    except (OSError, ValueError):
        return 0


def _works_here(pid: int) -> bool:
    data = os.path.realpath("data")
    if sys.platform == "linux":
        return os.readlink(f"/proc/{pid}/cwd") == data
    # A left-over postmaster.pid is rare, so only now is this worth its import.
    import subprocess

    ps = ["/bin/ps", "-o", "command=", "-p", str(pid)]
    found = subprocess.run(ps, capture_output=True, check=False, timeout=10).stdout
    return b"postgres" in found and os.fsencode(data) in found


def _start(root: str, postgres: str, owner: tuple[int, int], server_lock: int) -> int:
    keeper = os.getpid()
    child = os.fork()
    if child:
        return child
    try:
        _drop_privileges(*owner, keeper)
        os.set_inheritable(server_lock, True)
        # A background starter may have us ignore SIGINT, and that is inherited: until
        # postgres has its own handlers, the signal of our death must not be lost on it.
        for number in (
            signal.SIGPIPE,
            signal.SIGINT,
            signal.SIGQUIT,
            signal.SIGTERM,
            signal.SIGHUP,
        ):
            signal.signal(number, signal.SIG_DFL)
        settings = [f"--config_file={root}/server.conf", f"--hba_file={root}/hba.conf"]
        os.execve(postgres, [postgres, "-D", f"{root}/data", *settings], ENVIRONMENT)
    except Exception as error:  # noqa: BLE001
        os.write(2, f"FATAL:  could not run {postgres}: {error}\n".encode())
    finally:
        os._exit(1)


def _drop_privileges(uid: int, gid: int, keeper: int) -> None:
    """Drop root's privileges, and ask Linux for a fast shutdown when the keeper is killed.

    Elsewhere the next keeper finds the orphan by its lock and stops it.
    """
    libc = None
    if sys.platform == "linux":
        # Imported in the child alone, which forgets it at once, so the keeper stays small; and
        # before the change of user, which may not be able to read our Python.
        import ctypes

        libc = ctypes.CDLL(None)
    if os.geteuid() == 0:
        os.setgroups([])
        os.setgid(gid)
        os.setuid(uid)
    if libc:
        # After the change of user, which would undo it.
        libc.prctl(PR_SET_PDEATHSIG, int(signal.SIGINT))
    if os.getppid() != keeper:
        os._exit(1)


def _supervise(child: int, grace_s: float) -> int | None:
    """Wait for postgres to end, which is its status, or for a reason to stop it, which is None."""
    events, wake = os.pipe()
    os.set_blocking(wake, False)
    signal.set_wakeup_fd(wake)
    for number in (signal.SIGCHLD, signal.SIGTERM, signal.SIGINT):
        signal.signal(number, _ignore)
    _thread.start_new_thread(_await_last_holder, (grace_s, wake))
    while True:
        # Looked at before every wait, for it may have ended before we listened.
        ended, status = os.waitpid(child, os.WNOHANG)
        if ended:
            return status
        if not select.select([events], [], [], LOG_CHECK_S)[0]:
            _rotate_log()
        elif os.read(events, 1) != bytes([signal.SIGCHLD]):
            return None


def _ignore(number: int, frame: object) -> None:
    """Do nothing: the wakeup pipe has the signal already."""


def _await_last_holder(grace_s: float, wake: int) -> None:
    """Block until nobody holds the server and nobody did for `grace_s`; then let nobody in.

    Holders touch the file as they come and go, so its age is how long it has been quiet.
    """
    lock = _open_lock("holders.lock")
    while True:
        fcntl.flock(lock, fcntl.LOCK_EX)
        left_s = grace_s - (time.time() - os.fstat(lock).st_mtime)
        if left_s <= 0:
            break
        fcntl.flock(lock, fcntl.LOCK_UN)
        # In small steps: a holder that comes or goes meanwhile may shorten the wait.
        time.sleep(min(left_s, GRACE_STEP_S))
    os.write(wake, b"\0")


def _stop(child: int) -> None:
    """End postgres: a fast shutdown, and when that hangs an immediate one, which will recover."""
    for number, limit_s in STOP_STEPS:
        os.kill(child, number)
        deadline = time.monotonic() + limit_s
        while time.monotonic() < deadline:
            if os.waitpid(child, os.WNOHANG)[0]:
                return
            time.sleep(0.01)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)


def _rotate_log() -> None:
    """Move a long log aside in place: postgres appends to the file that it has open."""
    try:
        if os.stat("server.log").st_size < LOG_LIMIT_BYTES:
            return
        with open("server.log", "rb") as log, open("server.log.1", "wb") as old:
            while piece := log.read(1 << 16):
                old.write(piece)
        os.truncate("server.log", 0)
    except OSError as error:
        os.write(2, f"WARNING:  could not shorten the log: {error}\n".encode())


def _restart(*, crashes: int) -> None:
    """Become a fresh keeper, so that a restart goes through everything a start goes through."""
    time.sleep(0.1 * crashes)
    *others, pipe, _ = sys.argv
    os.set_inheritable(int(pipe), True)
    os.execv(sys.executable, [sys.executable, "-I", "-S", *others, pipe, str(crashes)])


def _report(pipe: int, word: str) -> None:
    try:
        os.write(pipe, word.encode())
    except BrokenPipeError:
        pass


if __name__ == "__main__":
    main(sys.argv[1:])
