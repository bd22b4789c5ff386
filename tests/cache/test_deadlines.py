"""Deadlines: each is kept, whatever others are under way, and a request that is over is not cut off."""

from __future__ import annotations

import threading
import time

from tilewright.cache.deadlines import Deadlines


def late_by(deadlines: Deadlines, seconds: float) -> float:
    """How long after its deadline something that never ends is cut off."""
    cut = threading.Event()
    started = time.monotonic()
    with deadlines.after(seconds, cut.set) as deadline:
        assert cut.wait(20)
    assert deadline.passed
    return time.monotonic() - started - seconds


def test_the_last_to_come_may_be_the_first_to_be_cut_off() -> None:
    deadlines = Deadlines()
    with deadlines.after(60, lambda: None) as longest, deadlines.after(30, lambda: None) as long:
        assert 0 <= late_by(deadlines, 0.2) < 10
        assert 0 <= late_by(deadlines, 0.1) < 10
    assert [longest.passed, long.passed] == [False, False]


def test_what_ends_in_time_is_not_cut_off() -> None:
    deadlines = Deadlines()
    cut: list[int] = []
    for number in range(200):
        with deadlines.after(0.5, lambda number=number: cut.append(number)) as deadline:  # type: ignore[misc]
            pass
        assert not deadline.passed
    assert late_by(deadlines, 0.6) >= 0
    assert cut == []


def test_one_thread_watches_all() -> None:
    deadlines = Deadlines()
    before = threading.active_count()
    for _ in range(20):
        with deadlines.after(60, lambda: None):
            assert threading.active_count() <= before + 1
