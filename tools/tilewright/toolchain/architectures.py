"""GPU architectures: how people spell them, and which ones the tools of a toolkit offer."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Sequence

from tilewright.problem import Problem
from tilewright.toolchain.answers import excerpt, remembered, run
from tilewright.toolchain.error import ToolchainError
from tilewright.toolchain.parts import PART
from tilewright.toolchain.toolkit import Toolkit, how_to_install

_SPELLING = re.compile(r"(?:(?:sm|compute)_?)?(\d{2,3})([af]?)", re.IGNORECASE | re.ASCII)

_ASK_NVRTC = """
import ctypes, sys
count = ctypes.c_int()
try:
    library = ctypes.CDLL(sys.argv[1])
    failed = library.nvrtcGetNumSupportedArchs(ctypes.byref(count))
    numbers = (ctypes.c_int * count.value)()
    failed = failed or library.nvrtcGetSupportedArchs(numbers)
except (OSError, AttributeError) as error:
    sys.exit(str(error))
print(*numbers) if not failed else sys.exit(f"NVRTC error {failed}")
"""


def normalize(text: str) -> str:
    """The plain name of an architecture: `SM_120`, `120`, `sm_120a`, `sm_120f` and `compute_120` are "sm_120".

    Raises ToolchainError for anything that is not spelled like an architecture.
    """
    return f"sm_{number_of(text).rstrip('af')}"


def number_of(text: str) -> str:
    """Number and suffix of an architecture in any spelling: "120a" of `sm_120a`, `SM_120A` and `compute_120a`.

    Raises ToolchainError for anything that is not spelled like an architecture.
    """
    spelled = _SPELLING.fullmatch(text.strip())
    if spelled is None:
        raise ToolchainError([Problem(f"`{text.strip()}` is not an architecture", hint="write it like sm_120")])
    return spelled[1] + spelled[2].lower()


def parse_architectures(text: str, toolkit: Toolkit) -> tuple[str, ...]:
    """The architectures of a list like "sm_90, sm_120a": plain names, in its order, each once.

    Raises ToolchainError with a problem for each one that the toolkit does not offer, or for an empty list.
    """
    return _parse(text, _offered(toolkit), "arch", several=True)


def parse_ltoir_architecture(text: str, toolkit: Toolkit, *, archs: Sequence[str] = ()) -> str:
    """The architecture of the LTOIR inside libraries for `archs`: "compute_75" for `75`, `sm_75` or `compute_75`.

    Raises ToolchainError when NVRTC does not offer it, or when it is newer than one of `archs`.
    """
    choices = tuple(f"compute_{number}" for number in nvrtc_architectures(toolkit))
    chosen = _parse(text, choices, "ltoir_arch", several=False)[0]
    problems = [
        Problem(
            f"ltoir_arch={chosen} is newer than arch={arch}, which could not use it",
            hint=f"ltoir_arch={arch.replace('sm_', 'compute_')} or older",
        )
        for arch in archs
        if not ltoir_fits(chosen, arch)
    ]
    if problems:
        raise ToolchainError(problems)
    return chosen


def ltoir_fits(ltoir_arch: str, arch: str) -> bool:
    """Whether LTOIR made for `ltoir_arch` can be used on `arch`: the same or an older number, suffixes aside."""
    return int(normalize(ltoir_arch)[3:]) <= int(normalize(arch)[3:])


def nvrtc_architectures(toolkit: Toolkit) -> tuple[int, ...]:
    """The numbers that the toolkit's NVRTC can compile for, ascending. Raises ToolchainError without NVRTC."""
    library = toolkit.require("nvrtc").path
    command = [sys.executable, "-I", "-S", "-c", _ASK_NVRTC, str(library)]
    what = f"NVRTC does not tell its architectures: {library}"
    hint = f"install it again: {how_to_install(toolkit, PART['nvrtc'].wheel)}"
    try:
        text = remembered(library, "architectures", toolkit.cache, lambda: run(command, os.environ))
    except ToolchainError as error:
        problems = (Problem(what, detail=one.detail or one.what, hint=hint) for one in error.problems)
        raise ToolchainError(problems) from error
    if not re.fullmatch(r"\s*\d+(\s+\d+)*\s*", text, re.ASCII):
        raise ToolchainError([Problem(what, detail=excerpt(text), hint=hint)])
    return tuple(sorted({int(number) for number in text.split()}))


def _offered(toolkit: Toolkit) -> tuple[str, ...]:
    choices = toolkit.architectures()
    if not choices:
        toolkit.require("nvrtc")
    return choices


def _number(text: str) -> str | None:
    spelled = _SPELLING.fullmatch(text)
    return spelled[1] if spelled else None


def _parse(text: str, choices: Sequence[str], variable: str, *, several: bool) -> tuple[str, ...]:
    items = [item.strip() for item in text.split(",") if item.strip()]
    prefix = choices[0].rpartition("_")[0]
    listing = ", ".join(choices)
    if not items or (len(items) > 1 and not several):
        how_many = "is empty" if not items else f"takes one architecture, not `{text.strip()}`"
        raise ToolchainError([Problem(f"`{variable}` {how_many}", hint=f"choose from: {listing}")])
    names: list[str] = []
    problems: list[Problem] = []
    for item in items:
        number = _number(item)
        name = f"{prefix}_{number}"
        if number and name in choices:
            names.append(name)
            continue
        nearest = _nearest(name if number else item, choices)
        hint = (f"did you mean {variable}={nearest}?\n" if nearest else "") + f"choose from: {listing}"
        problems.append(Problem(f"`{item}` is not an architecture that the toolkit offers", hint=hint))
    if problems:
        raise ToolchainError(problems)
    return tuple(dict.fromkeys(names))


def _nearest(name: str, choices: Sequence[str]) -> str:
    import difflib

    return next(iter(difflib.get_close_matches(name.lower().replace("-", "_"), choices, n=1, cutoff=0.6)), "")
