"""Starts the kernels of a bundle whose library is NVVM IR, on the CPU."""

from __future__ import annotations

from collections.abc import Sequence

from tilewright.callers.buffers import GUARD
from tilewright.callers.bundle import Check, Emulation
from tilewright.callers.error import CallerError
from tilewright.callers.ir.jit import IrPair, run_ir
from tilewright.callers.report import Launch
from tilewright.device.module import DeviceError
from tilewright.device.workers import Workers
from tilewright.problem import Problem


def ir_launcher(emulation: Emulation, workers: Workers) -> Launch:
    """What runs one check on the images of its tiles, in a worker that keeps the compiled code."""
    pair = IrPair(emulation.name, emulation.library, emulation.caller)

    def launch(check: Check, images: Sequence[bytes]) -> Sequence[bytes]:
        plain = check.without_tiles()
        try:
            said, after = workers.run(run_ir, pair, plain, images, GUARD)
        except DeviceError as error:
            raise CallerError(error.problems) from None
        if said:
            raise CallerError([Problem(said)])
        return after

    return launch
