"""CUDA C to PTX by NVRTC, opened by path. No toolkit header is read: the emitted text includes nothing."""

from __future__ import annotations

import ctypes
import functools
import re
from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

from tilewright.lowering.artifact import DeviceArtifact
from tilewright.runtime.errors import refusal

ARCHITECTURE = re.compile(r"(?:sm|compute)_(\d+)[af]?")
OLDEST_FALLBACK = 60


@dataclass(frozen=True, slots=True)
class Nvrtc:
    """One NVRTC library: its path, its version, and the architectures it compiles for, as numbers (90 = sm_90)."""

    path: str
    version: tuple[int, int]
    architectures: tuple[int, ...]

    @property
    def fallback(self) -> str:
        """The architecture of the second attempt: the oldest there is, but none before compute_60."""
        return f"compute_{max(OLDEST_FALLBACK, min(self.architectures))}"

    @property
    def version_text(self) -> str:
        return f"{self.version[0]}.{self.version[1]}"


@functools.cache
def open_nvrtc(path: str | None = None) -> Nvrtc:
    """The library at that path; without one, what cuda-pathfinder finds. ShaderError when there is none."""
    found = path or located()
    major, minor = ctypes.c_int(), ctypes.c_int()
    entry(found, "nvrtcVersion")(ctypes.byref(major), ctypes.byref(minor))
    count = ctypes.c_int()
    entry(found, "nvrtcGetNumSupportedArchs")(ctypes.byref(count))
    numbers = (ctypes.c_int * count.value)()
    entry(found, "nvrtcGetSupportedArchs")(numbers)
    return Nvrtc(found, (major.value, minor.value), tuple(numbers))


def located() -> str:
    """Path of the NVRTC that the Python environment or the system offers."""
    try:
        return str(import_module("cuda.pathfinder").load_nvidia_dynamic_lib("nvrtc").abs_path)
    except (ImportError, RuntimeError) as missing:
        hint = "pip install 'nvidia-cuda-nvrtc' cuda-bindings"
        raise refusal(f"NVRTC is not found: {missing}", "no-nvrtc", hint) from missing


def target(architecture: str) -> str:
    """`compute_90` for sm_90: PTX has a virtual architecture."""
    known = ARCHITECTURE.fullmatch(architecture)
    if not known:
        raise refusal(f"{architecture!r} is no architecture", "unknown-architecture", "sm_90")
    return architecture.replace("sm_", "compute_")


def options_of(
    architecture: str, *, fmad: bool = True, fast_math: bool = False, debug: bool = False, max_registers: int = 0
) -> tuple[str, ...]:
    """The command line of NVRTC for an artifact; fast math only when asked for."""
    options = [
        f"--gpu-architecture={target(architecture)}",
        "--std=c++17",
        "--restrict",
        "--extra-device-vectorization",
    ]
    options += ["-w", f"--fmad={'true' if fmad else 'false'}"]
    options += ["--use_fast_math"] if fast_math else []
    options += ["-lineinfo"] if debug else []
    options += [f"--maxrregcount={max_registers}"] if max_registers else []
    return tuple(options)


def compile_ptx(source: str, options: tuple[str, ...], *, nvrtc: str | None = None, name: str = "shader.cu") -> bytes:
    """PTX text with one NUL at its end. ShaderError with the compiler's log where it gives none.

    A plain function of its arguments: a build may run it in a worker process.
    """
    library = open_nvrtc(nvrtc).path
    program = ctypes.c_void_p()
    create = entry(library, "nvrtcCreateProgram")
    status = create(ctypes.byref(program), source.encode(), name.encode(), 0, None, None)
    if status:
        raise refusal(f"NVRTC takes no program: status {status}", "no-ptx")
    try:
        words = (ctypes.c_char_p * len(options))(*[option.encode() for option in options])
        status = entry(library, "nvrtcCompileProgram")(program, len(options), words)
        log = sized(library, "ProgramLog", program).rstrip(b"\0").decode(errors="replace").strip()
        ptx = b"" if status else sized(library, "PTX", program)
        if not ptx.strip(b"\0"):
            what = f"NVRTC {open_nvrtc(nvrtc).version_text} gave no PTX for {name} with {' '.join(options)}"
            raise refusal(what, "no-ptx", detail=log)
        return ptx.rstrip(b"\0") + b"\0"
    finally:
        entry(library, "nvrtcDestroyProgram")(ctypes.byref(program))


def ptx_text(artifact: DeviceArtifact, architecture: str, *, nvrtc: str | None = None) -> bytes:
    """The PTX of an artifact as a file holds it, without a NUL. What a build runs, in a worker process if it likes."""
    options = artifact_options(artifact, architecture)
    return compile_ptx(artifact.source, options, nvrtc=nvrtc, name=f"{artifact.entry}.cu").rstrip(b"\0")


def artifact_options(artifact: DeviceArtifact, architecture: str) -> tuple[str, ...]:
    """The command line that the fields of an artifact ask for."""
    return options_of(
        architecture,
        fmad=artifact.fmad,
        fast_math=artifact.fast_math,
        debug=artifact.debug,
        max_registers=artifact.max_registers,
    )


def sized(library: str, what: str, program: ctypes.c_void_p) -> bytes:
    """What `nvrtcGet<what>Size` and `nvrtcGet<what>` give."""
    size = ctypes.c_size_t()
    entry(library, f"nvrtcGet{what}Size")(program, ctypes.byref(size))
    buffer = ctypes.create_string_buffer(max(1, size.value))
    entry(library, f"nvrtcGet{what}")(program, buffer)
    return buffer.raw[: size.value]


def entry(library: str, name: str) -> Callable[..., int]:
    """A function of the library; ShaderError when the library is too old for it."""
    try:
        found: Any = getattr(opened(library), name)
    except AttributeError:
        raise refusal(f"{Path(library).name} has no `{name}`", "no-nvrtc", "install CUDA 12 or newer") from None
    return found  # type: ignore[no-any-return]


@functools.cache
def opened(library: str) -> ctypes.CDLL:
    """The library; its built-in headers, which it looks for by bare name, are opened before it."""
    try:
        for builtins in sorted(Path(library).resolve().parent.glob("libnvrtc-builtins.so.*")):
            ctypes.CDLL(str(builtins))
        return ctypes.CDLL(library)
    except OSError as error:
        raise refusal(f"cannot open {library}", "no-nvrtc", detail=str(error)) from None
