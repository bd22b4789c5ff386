"""Worker processes for native code that may crash, whose working directory must not show in what it makes.

A crash breaks a whole `ProcessPoolExecutor`.  Every job that was under way then runs again in a process of its own, so
that only the one that crashes by itself is reported.  Workers sit in `/` and leave with their parent.  The first Ctrl-C
is the parent's alone; a second one ends a hanging job under a parent that waits for its jobs, as SCons does.
"""

from __future__ import annotations

import contextlib
import importlib.machinery
import multiprocessing
import multiprocessing.connection
import os
import signal
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import CancelledError, Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from multiprocessing import resource_tracker, util
from multiprocessing.context import SpawnContext, SpawnProcess
from pathlib import Path
from types import TracebackType
from typing import Any, ParamSpec, Self, TypeVar, cast

from tilewright.device.module import DeviceError
from tilewright.problem import Place, Problem

P = ParamSpec("P")
R = TypeVar("R")

STOPPED = Problem("the build was stopped before this step finished")
INTERRUPTED = 130
"""Exit status of a worker that a second Ctrl-C ended."""

_starting = threading.Lock()


class Workers:
    """A pool of `size` processes, started on first use, one a build; the default size is the number of CPUs.

    `run` may be called from any thread.  Leaving the `with` block, `close`, or the end of the interpreter stops the
    processes; none of them waits for a job that hangs.
    """

    def __init__(self, size: int | None = None) -> None:
        self.size = size or os.cpu_count() or 1
        self._lock = threading.Lock()
        self._pool: ProcessPoolExecutor | None = None
        self._context = _Context()
        self._alone: list[SpawnProcess] = []
        self._places_alone = threading.BoundedSemaphore(self.size)
        self._under_way = 0
        self._closed = False
        _before_exit(self.close)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    def run(self, function: Callable[P, R], *args: P.args, **kwargs: P.kwargs) -> R:
        """`function(*args)` in a worker: its result, or what it raised.

        The function is found by its module's name, so it cannot live in `__main__`.  `DeviceError` when the process
        dies under this very job.  An interrupt while waiting stops all workers and goes on to the caller.
        """
        self._count(+1)
        try:
            future, context = self._submit(function, *args, **kwargs)
            try:
                return future.result()
            except (BrokenProcessPool, CancelledError):
                self._refuse_when_closed()
            if any(_exit_code(process) == INTERRUPTED for process in context.started):
                raise DeviceError([STOPPED])
            with self._places_alone:
                return self._run_alone(function, *args, **kwargs)
        except (KeyboardInterrupt, SystemExit):
            self.close()
            raise
        finally:
            self._count(-1)

    def close(self) -> None:
        """Stops the processes: at once where jobs are under way (their callers get an error), else in good order."""
        with self._lock:
            self._closed = True
            pool, self._pool = self._pool, None
            idle = self._under_way == 0
        if not idle:
            for process in (*self._context.started, *self._alone):
                process.kill()
        if pool is not None:
            pool.shutdown(wait=True, cancel_futures=True)

    def _count(self, step: int) -> None:
        with self._lock:
            self._under_way += step

    def _refuse_when_closed(self) -> None:
        if self._closed:
            raise DeviceError([STOPPED])

    def _submit(self, function: Callable[P, R], *args: P.args, **kwargs: P.kwargs) -> tuple[Future[R], _Context]:
        with self._lock:
            self._refuse_when_closed()
            if self._pool is not None:
                with contextlib.suppress(BrokenProcessPool):
                    return self._pool.submit(function, *args, **kwargs), self._context
                self._pool.shutdown(wait=False)
            _start_tracker()
            self._context = _Context()
            self._pool = ProcessPoolExecutor(self.size, mp_context=self._context, initializer=_settle)
            return self._pool.submit(function, *args, **kwargs), self._context

    def _run_alone(self, function: Callable[P, R], *args: P.args, **kwargs: P.kwargs) -> R:
        ours, theirs = multiprocessing.Pipe(duplex=False)
        with tempfile.NamedTemporaryFile() as last_words, ours:
            job = (theirs, last_words.name, function, args, kwargs)
            process = _QuietProcess(target=_one_job, args=job, daemon=True)
            with self._lock:
                self._refuse_when_closed()
                process.start()
                self._alone.append(process)
            theirs.close()
            try:
                succeeded, value = ours.recv()
            except EOFError:
                self._refuse_when_closed()
                code = _exit_code(process)
                if code == INTERRUPTED:
                    raise DeviceError([STOPPED]) from None
                said = last_words.read().decode(errors="replace").strip()
                raise DeviceError([_death(function, args, code, said)]) from None
        process.join()
        if not succeeded:
            raise cast(BaseException, value)
        return cast(R, value)


class _Context(SpawnContext):
    """Makes quiet processes and notes them in `started`."""

    def __init__(self) -> None:
        super().__init__()
        self._made: list[SpawnProcess] = []

    @property
    def started(self) -> list[SpawnProcess]:
        """Those that came to life; the system may refuse to start one."""
        return [process for process in self._made if process.pid is not None]

    def Process(self, *args: Any, **kwargs: Any) -> SpawnProcess:  # type: ignore[override]
        process = _QuietProcess(*args, **kwargs)
        self._made.append(process)
        return process


class _QuietProcess(SpawnProcess):
    """A process that does not run the parent's main script again and never sees its Ctrl-C."""

    def start(self) -> None:
        _start_tracker()
        with _starting, _safe_path(), _main_script_hidden(), _package_on_path(), _interrupt_blocked():
            super().start()


def _start_tracker() -> None:
    """The process that `multiprocessing` starts with the first lock or worker; once it runs, this does nothing."""
    with _starting, _safe_path():
        resource_tracker.ensure_running()


@contextlib.contextmanager
def _safe_path() -> Iterator[None]:
    """Lets a Python that `multiprocessing` starts not look for its own modules in the working directory first.

    There lie the user's files, and one may be called `socket.py`. In the environment, PYTHONSAFEPATH would reach what
    other threads start meanwhile.
    """
    flags = util._args_from_interpreter_flags  # type: ignore[attr-defined]
    util._args_from_interpreter_flags = lambda: [*flags(), "-P"]  # type: ignore[attr-defined]
    try:
        yield
    finally:
        util._args_from_interpreter_flags = flags  # type: ignore[attr-defined]


@contextlib.contextmanager
def _main_script_hidden() -> Iterator[None]:
    """Lets `spawn` think that the main module is a package's `__main__`, which it leaves alone.

    Otherwise each worker would import the `scons` script, and any user's script that has no `if __name__` guard
    would run a second time.
    """
    main = sys.modules["__main__"]
    spec = getattr(main, "__spec__", None)
    main.__spec__ = importlib.machinery.ModuleSpec("__main__", None)
    try:
        yield
    finally:
        main.__spec__ = spec


@contextlib.contextmanager
def _package_on_path() -> Iterator[None]:
    """A child gets a copy of `sys.path`; SCons takes back what an SConstruct put there to import this package."""
    folder = str(Path(__file__).resolve().parents[2])
    if folder in sys.path:
        yield
        return
    sys.path.append(folder)
    try:
        yield
    finally:
        sys.path.remove(folder)


@contextlib.contextmanager
def _interrupt_blocked() -> Iterator[None]:
    """The child inherits the mask: Ctrl-C reaches it only where it waits for it, `_leave_on_second_interrupt`."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _settle() -> None:
    """First thing in every worker."""
    os.chdir("/")
    for watch in (_leave_with_parent, _leave_on_second_interrupt):
        threading.Thread(target=watch, daemon=True).start()


def _leave_with_parent() -> None:
    if parent := multiprocessing.parent_process():
        parent.join()
        os._exit(1)


def _leave_on_second_interrupt() -> None:
    for _ in range(2):
        signal.sigwait({signal.SIGINT})
    os._exit(INTERRUPTED)


def _one_job(
    reply: multiprocessing.connection.Connection,
    last_words: str,
    function: Callable[..., object],
    args: tuple[object, ...],
    kwargs: dict[str, object],
) -> None:
    _settle()
    os.dup2(os.open(last_words, os.O_WRONLY), sys.stderr.fileno())
    try:
        answer: tuple[bool, object] = (True, function(*args, **kwargs))
    except Exception as error:
        answer = (False, error)
    try:
        reply.send(answer)
    except Exception as error:
        reply.send((False, DeviceError([Problem(f"what a worker made cannot be sent back: {error}")])))


def _before_exit(close: Callable[[], None]) -> None:
    """Runs `close` before the interpreter waits for the pool's thread, which waits for the jobs.

    `atexit` comes later than that; the hook that the pool itself uses runs the newest entry first.
    """
    register = getattr(threading, "_register_atexit", None)
    if register is not None:
        register(close)


def _exit_code(process: SpawnProcess) -> int:
    """Waits for the end of a process; the thread of the pool may wait, too, and only one of them learns it at once."""
    while (code := process.exitcode) is None:
        process.join(0.01)
    return code


def _death(function: Callable[..., object], args: tuple[object, ...], code: int, said: str) -> Problem:
    how = f"was killed by {_signal_name(-code)}" if code < 0 else f"ended with exit code {code}"
    step = (function.__doc__ or function.__name__).strip().splitlines()[0].partition(". ")[0].rstrip(".")
    source = next((name for name in (getattr(argument, "name", "") for argument in args) if name), "")
    return Problem(
        what=f"{step}: the worker process {how}",
        where=Place(source) if source else None,
        hint="the native tool does not survive this input: leave parts of it out until it does",
        detail=said,
    )


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
