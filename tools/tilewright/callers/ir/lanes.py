"""Thirty-two threads that call warp functions together; one that waits in vain is found and named."""

from __future__ import annotations

import threading
from collections.abc import Callable

from tilewright.callers.ir.warp_functions import OPERATIONS, exchanged
from tilewright.exports.model import WARP_SIZE


class Lanes:
    """One warp. `exchange` is what a lane calls, `run` starts all lanes and waits for them.

    After a fault every exchange gives 0 at once, so that the lanes come to their end.
    """

    def __init__(self) -> None:
        self.fault = ""
        self._turn = threading.Condition()
        self._waiting: dict[int, tuple[int, int, int, int, int]] = {}
        self._results: dict[int, int] = {}
        self._finished = 0

    def run(self, body: Callable[[int], None]) -> str:
        """Runs `body(lane)` in all lanes; what went wrong, or nothing."""
        threads = [threading.Thread(target=self._lane, args=(body, lane), daemon=True) for lane in range(WARP_SIZE)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        return self.fault

    def exchange(self, lane: int, operation: int, mask: int, value: int, b: int, c: int) -> int:
        """One lane's part of a warp function, with the lanes of its mask."""
        with self._turn:
            if self.fault:
                return 0
            if not mask >> lane & 1:
                self._give_up(f"`{OPERATIONS[operation]}`: lane {lane} is not in its own mask")
                return 0
            self._waiting[lane] = (operation, mask, value, b, c)
            self._release()
            self._turn.wait_for(lambda: lane in self._results or self.fault)
            return self._results.pop(lane, 0)

    def _lane(self, body: Callable[[int], None], lane: int) -> None:
        body(lane)
        with self._turn:
            self._finished += 1
            self._release()

    def _release(self) -> None:
        for operation, mask, *_ in list(self._waiting.values()):
            members = [lane for lane in range(WARP_SIZE) if mask >> lane & 1]
            if any(self._waiting.get(lane, (-1, 0))[:2] != (operation, mask) for lane in members):
                continue
            values = [self._waiting[lane][2] if lane in members else 0 for lane in range(WARP_SIZE)]
            for lane in members:
                b, c = self._waiting.pop(lane)[3:]
                self._results[lane] = exchanged(OPERATIONS[operation], lane, values, mask, b, c)
            self._turn.notify_all()
        if self._waiting and len(self._waiting) + self._finished == WARP_SIZE:
            lane = min(self._waiting)
            name = OPERATIONS[self._waiting[lane][0]]
            self._give_up(f"lane {lane} waits in `{name}` for lanes that never come")

    def _give_up(self, fault: str) -> None:
        self.fault = self.fault or fault
        self._turn.notify_all()
