"""Deadlines of requests: what is still under way at its own is cut off, by one thread for all of them."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager


class Deadline:
    """One request's; `passed` says whether it was cut off."""

    __slots__ = ("at", "cut", "passed")

    def __init__(self, at: float, cut: Callable[[], None]) -> None:
        self.at = at
        self.cut = cut
        self.passed = False


class Deadlines:
    """Those of all requests under way. The thread starts with the first, and sleeps until the next one is due."""

    def __init__(self) -> None:
        self._under_way: set[Deadline] = set()
        self._changed = threading.Condition()
        self._wakes_at: float | None = None
        self._started = False

    @contextmanager
    def after(self, seconds: float, cut: Callable[[], None]) -> Iterator[Deadline]:
        """Calls `cut`, from another thread, when the block takes longer than that."""
        deadline = Deadline(time.monotonic() + seconds, cut)
        with self._changed:
            self._under_way.add(deadline)
            if not self._started:
                self._started = True
                threading.Thread(target=self._watch, name="deadlines", daemon=True).start()
            elif self._wakes_at is None or deadline.at < self._wakes_at:
                self._changed.notify()
        try:
            yield deadline
        finally:
            with self._changed:
                self._under_way.discard(deadline)

    def _watch(self) -> None:
        while True:
            with self._changed:
                now = time.monotonic()
                for deadline in [each for each in self._under_way if each.at <= now]:
                    self._under_way.discard(deadline)
                    deadline.passed = True
                    deadline.cut()
                self._wakes_at = min((each.at for each in self._under_way), default=None)
                self._changed.wait(None if self._wakes_at is None else self._wakes_at - now)
