"""Building and running checked MSL: a type check with address spaces, then programs that run it on the CPU."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from importlib import resources
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tilewright.lowering.artifact import Extent3
from tilewright.lowering.errors import LoweringError
from tilewright.lowering.metal.check.clang import INSTALL, Clang
from tilewright.lowering.metal.check.units import Msl, dispatcher, unit
from tilewright.problem import Problem

LABEL = "MSL, CPU-emulated"
"""What evidence of this check is called; never "Metal"."""

HEADERS = {
    "tw_runtime.h": "runtime.h",
    "metal_stdlib": "standard.h",
    "metal_simdgroup_matrix": "matrices.h",
    "metal_tensor": "tensors.h",
    "MetalPerformancePrimitives/MetalPerformancePrimitives.h": "primitives.h",
    "buffers.h": "buffers.h",
    "fibers.h": "fibers.h",
}
OTHER_NAMES = {
    "metal_cooperative_tensor": "metal_tensor",
    "metal_simdgroup": "metal_stdlib",
    "simd/simd.h": "metal_stdlib",
}
"""Headers that bring nothing of their own here."""

FLAGS = (
    "-std=c++20",
    "-fno-exceptions",
    "-fno-rtti",
    "-ffp-contract=off",
    "-fno-finite-loops",
    "-Wno-unknown-attributes",
    "-Wno-unused-value",
    "-Werror=implicit-float-conversion",
    "-Werror=double-promotion",
    "-Werror=vla",
    "-Werror=uninitialized",
    "-Werror=array-bounds",
)


class Variant(Enum):
    """How a program is built; the sanitizers see what a plain run survives. TSan takes some 8,000 threads a launch."""

    PLAIN = "plain"
    ASAN = "asan"
    TSAN = "tsan"


SANITIZERS = {
    Variant.PLAIN: ("-O1", "-g1"),
    Variant.ASAN: ("-O1", "-g1", "-fsanitize=address,undefined", "-fno-sanitize-recover=all"),
    Variant.TSAN: ("-O1", "-g1", "-fsanitize=thread"),
}


class Order(Enum):
    """In which order threads run between meeting points."""

    FORWARD = 0
    BACKWARD = 1
    PERMUTED = 2


@dataclass(frozen=True, slots=True)
class Program:
    """A built check program; kernels go by their number."""

    path: Path
    clang: Clang
    variant: Variant


@dataclass(frozen=True, slots=True)
class Bound:
    """The contents of a buffer, and the byte offset at which the slot's view starts. Slots of the very same array are
    views of one buffer."""

    contents: NDArray[Any]
    offset: int = 0


@dataclass(frozen=True, slots=True)
class Outcome:
    """Contents of every buffer after the launch, or what stopped it ("" = nothing)."""

    contents: tuple[NDArray[Any], ...]
    fault: str


def type_check(clang: Clang, kernels: Sequence[Msl], folder: Path) -> None:
    """The check pass: address spaces are real, nothing is run. LoweringError carries clang's text."""
    include = write_headers(folder)
    for version, numbered in by_version(kernels).items():
        file = folder / f"check_{version}.cpp"
        file.write_text(unit(numbered))
        command = compiler(clang, include, version)
        compile_or_refuse([*command, "-DTW_CHECK", "-fsyntax-only", str(file)], kernels)


def build(clang: Clang, kernels: Sequence[Msl], folder: Path, variant: Variant = Variant.PLAIN) -> Program:
    """One program for several kernels."""
    include = write_headers(folder)
    objects = [runtime_object(clang, include, folder)]
    calls = folder / "calls.cpp"
    calls.write_text(dispatcher(len(kernels)))
    program = folder / f"check_{variant.value}"
    sources = [str(calls)]
    for version, numbered in by_version(kernels).items():
        file = folder / f"run_{variant.value}_{version}.cpp"
        file.write_text(unit(numbered))
        target = file.with_suffix(".o")
        command = [*compiler(clang, include, version), *SANITIZERS[variant], "-c", str(file), "-o", str(target)]
        compile_or_refuse(command, kernels)
        objects.append(target)
    link = [str(clang.path), "-I", str(include), *SANITIZERS[variant], *sources, *map(str, objects)]
    compile_or_refuse([*link, "-lm", "-o", str(program)], kernels)
    return Program(program, clang, variant)


def launch(
    program: Program,
    number: int,
    grid: Extent3,
    block: Extent3,
    buffers: Sequence[Bound],
    folder: Path,
    *,
    order: Order = Order.FORWARD,
    seed: int = 0,
    multiply_adds: bool = False,
    groups: int = 0,
    seconds: float = 120.0,
) -> Outcome:
    """Runs one kernel; `multiply_adds` is the other reading of the mode `multiply`.

    Of the threadgroups of `grid` all run, or `groups` of them: the first ones and, from two on, the last one.
    """
    by_buffer = {id(each.contents): folder / f"slot{place}" for place, each in enumerate(buffers)}
    files = [by_buffer[id(each.contents)] for each in buffers]
    for file, each in zip(files, buffers, strict=True):
        file.write_bytes(each.contents.tobytes())
    words = [str(number), str(order.value), str(seed), str(int(multiply_adds)), *map(str, (*grid, *block, groups))]
    for file, each in zip(files, buffers, strict=True):
        words += [str(file), str(each.offset)]
    try:
        done = subprocess.run(
            [str(program.path), *words],
            capture_output=True,
            text=True,
            errors="replace",
            check=False,
            timeout=seconds,
            env=environment(program),
        )
    except subprocess.TimeoutExpired:
        return Outcome((), f"still running after {seconds:g} s")
    if done.returncode:
        return Outcome((), done.stderr.strip() or f"ended with {done.returncode}")
    found = [np.fromfile(file, each.contents.dtype) for file, each in zip(files, buffers, strict=True)]
    if any(data.size != each.contents.size for data, each in zip(found, buffers, strict=True)):
        return Outcome((), "the program damaged its own memory")
    shaped = [data.reshape(each.contents.shape) for data, each in zip(found, buffers, strict=True)]
    return Outcome(tuple(shaped), "")


def environment(program: Program) -> dict[str, str]:
    """Options of the sanitizers: stop at the first finding, print lines."""
    beside = program.clang.symbolizer
    symbolizer = {"external_symbolizer_path": str(beside)} if beside else {"symbolize": "0"}
    options = {
        "ASAN_OPTIONS": {"detect_stack_use_after_return": "0", "detect_leaks": "0", **symbolizer},
        "UBSAN_OPTIONS": {"print_stacktrace": "1", **symbolizer},
        "TSAN_OPTIONS": {"halt_on_error": "1", "exitcode": "66", "atexit_sleep_ms": "0", **symbolizer},
    }
    words = {name: ":".join(f"{key}={value}" for key, value in each.items()) for name, each in options.items()}
    return {"PATH": os.environ.get("PATH", ""), **words}


def write_headers(folder: Path) -> Path:
    """The shim under the names that MSL includes."""
    include = folder / "include"
    shim = resources.files("tilewright.lowering.metal.check.shim")
    for name, stored in HEADERS.items():
        target = include / name
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(shim.joinpath(stored).read_text())
    for name, other in OTHER_NAMES.items():
        target = include / name
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(f"#pragma once\n#include <{other}>\n")
    return include


def runtime_object(clang: Clang, include: Path, folder: Path) -> Path:
    """The scheduler, never instrumented: one object for all variants."""
    target = folder / "fibers.o"
    if not target.exists():
        file = folder / "fibers.cpp"
        file.write_text('#include "fibers.h"\n')
        flags = ["-std=c++20", "-O1", "-fno-builtin", "-fno-exceptions", "-I", str(include)]
        compile_or_refuse([str(clang.path), *flags, "-c", str(file), "-o", str(target)], ())
    return target


def compiler(clang: Clang, include: Path, version: int) -> list[str]:
    defines = [f"-D__METAL_VERSION__={version}", *(["-D__HAVE_TENSOR__"] if version >= 400 else [])]
    return [str(clang.path), *FLAGS, *defines, "-nostdinc++", "-I", str(include)]


def by_version(kernels: Sequence[Msl]) -> dict[int, list[tuple[int, Msl]]]:
    """Kernels with their numbers, by language version."""
    found: dict[int, list[tuple[int, Msl]]] = {}
    for number, kernel in enumerate(kernels):
        found.setdefault(kernel.version, []).append((number, kernel))
    return found


def compile_or_refuse(command: list[str], kernels: Sequence[Msl]) -> None:
    done = subprocess.run(command, capture_output=True, text=True, errors="replace", check=False)
    if done.returncode == 0:
        return
    if "libclang_rt" in done.stderr:
        what = "the sanitizer run time of clang is missing"
        raise LoweringError([Problem(what, hint=INSTALL, rule="no-sanitizer", detail=done.stderr)])
    names = ", ".join(dict.fromkeys(kernel.name for kernel in kernels)) or "the runtime"
    what = f"clang rejects the MSL of {names} (this is not Apple's compiler)"
    raise LoweringError([Problem(what, rule="msl-rejected", detail=done.stderr)])
