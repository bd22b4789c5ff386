"""A verification bundle on the CPU: everything but GPU code generation.

The caller's kernels and the library's wrappers are compiled apart and meet at the native ABI, as on a GPU; the tiles
lie between the same guard bands.  The expected values come from an oracle that uses neither.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from tilewright.callers.buffers import GUARD
from tilewright.callers.bundle import Bundle, Check, Emulation
from tilewright.callers.error import CallerError
from tilewright.callers.host.compiler import compile_host
from tilewright.callers.oracle.host import run_for
from tilewright.callers.report import Launch, Report, run_checks
from tilewright.callers.templates import rendered
from tilewright.device.workers import Workers
from tilewright.problem import Problem

FROM_CUDA = "the caller and the library's CUDA C++, both compiled for the CPU"
FROM_IR = "the caller's and the library's NVVM IR, run by LLVM on the CPU"


def emulate_bundle(bundle: Bundle, *, workers: Workers, compiler: str, include: Sequence[Path] = ()) -> Report:
    """Runs every check on the CPU. `compiler` is the host's C++ compiler, `include` the toolkit's folders.

    `CallerError` when the bundle carries no source or the code cannot be run here.
    """
    if bundle.emulation is None:
        what = f"the bundle of `{bundle.library}` carries no source that could run on the CPU"
        raise CallerError([Problem(what, hint="make the bundle from the library's source")])
    if bundle.emulation.language == "nvvm":
        from tilewright.callers.ir.emulate import ir_launcher

        return Report(bundle, "the CPU", FROM_IR, run_checks(bundle, ir_launcher(bundle.emulation, workers)))
    launch = host_launcher(bundle, bundle.emulation, workers=workers, compiler=compiler, include=include)
    return Report(bundle, "the CPU", FROM_CUDA, run_checks(bundle, launch))


def host_launcher(
    bundle: Bundle, emulation: Emulation, *, workers: Workers, compiler: str, include: Sequence[Path] = ()
) -> Launch:
    """Compiles caller and library, gives what starts a kernel of theirs on the images of its tiles."""
    launches = rendered("host/launches.cpp.j2", checks=bundle.checks)
    units = {"library.cpp": emulation.library, "caller.cpp": emulation.caller + launches}
    library = compile_host(units, emulation.headers, source=emulation.name, compiler=compiler, include=include)
    numbers = {check.name: number for number, check in enumerate(bundle.checks)}

    def launch(check: Check, images: Sequence[bytes]) -> Sequence[bytes]:
        entry = f"tilewright_launch_{numbers[check.name]}"
        said, after = run_for(check.name, workers, library, entry, images, GUARD, emulation.name)
        if said:
            raise CallerError([Problem(said)])
        return after

    return launch
