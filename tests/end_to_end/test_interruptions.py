"""A build of ten libraries that is stopped in the middle: nothing half made, and the next run finishes it."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable

import pytest

from end_to_end.sandbox import Sandbox, finished, ten_libraries


@pytest.fixture(scope="module")
def clean(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    """What a build without an accident makes."""
    undisturbed = Sandbox(tmp_path_factory.mktemp("clean") / "project")
    undisturbed.write(ten_libraries())
    assert undisturbed.scons("arch=sm_120", "-j1").code == 0
    return undisturbed.listing()


@pytest.mark.parametrize(
    ("number", "libraries_before"), [(signal.SIGINT, 0), (signal.SIGINT, 4), (signal.SIGTERM, 2), (signal.SIGKILL, 3)]
)
def test_the_next_run_finishes_what_was_stopped(
    project: Callable[..., Sandbox], clean: dict[str, bytes], number: signal.Signals, libraries_before: int
) -> None:
    ten = project("ten", ten_libraries())
    running = ten.start("arch=sm_120", "-j4")
    deadline = time.monotonic() + 60
    while running.poll() is None and time.monotonic() < deadline:
        if (ten.folder / "build").exists() and len(list(ten.folder.glob("build/*/*/*.tilelib"))) >= libraries_before:
            os.killpg(running.pid, number)  # as a terminal does: to the workers too
            break
        time.sleep(0.001)
    stopped = finished(running)
    assert stopped.code != 0, "the signal came too late"
    assert "Traceback" not in stopped.err
    if number != signal.SIGKILL:
        left = ten.listing()
        assert {name for name, data in left.items() if clean.get(name) != data} == set(), "every file there is whole"

    assert ten.scons("arch=sm_120", "-j2").code == 0
    assert {name: data for name, data in ten.listing().items() if not name.endswith(".stage")} == clean
    assert ten.scons("arch=sm_120").up_to_date()
