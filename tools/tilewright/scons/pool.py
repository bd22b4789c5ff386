"""The worker processes, one pool a build, shared by every step of every environment."""

from __future__ import annotations

import atexit
import threading
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tilewright.device.workers import Workers

_starting = threading.Lock()
_pool: list[Workers] = []


def workers() -> Workers:
    """The pool, as wide as the build (`-j`); started by the first step that needs it, closed when SCons ends."""
    from tilewright.device.workers import Workers
    from tilewright.scons.run_mode import jobs

    with _starting:
        if not _pool:
            _pool.append(Workers(jobs()))
            atexit.register(_pool[0].close)
        return _pool[0]
