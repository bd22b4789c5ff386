"""The tools that made what is in a package, by which its manifest and its bill of materials name them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from tilewright.toolchain.toolkit import Toolkit

RUSTC, LLVMLITE, OXIDE = "rustc", "llvmlite", "cargo-oxide"
C_COMPILER, HOST_COMPILER = "c-compiler", "host-compiler"
"""Tools that are no components of the toolkit: who packs knows how to ask them."""

MADE_WITH: Mapping[str, tuple[str, ...]] = {
    "rust": (RUSTC, LLVMLITE),
    "ltoir": ("nvrtc",),
    "nvvm": ("nvvm", "libdevice"),
    "oxide": (OXIDE,),
    "library": ("assembler",),
    "provider": ("assembler", C_COMPILER),
    "link": ("nvjitlink",),
    "shader_cuda": ("nvrtc",),
    "program": ("nvcc", "assembler", "nvvm", "nvjitlink", HOST_COMPILER),
}
"""The tools whose work is in what a step makes. Other steps are ours alone: `tilewright` stands for them."""

FRONT_ENDS: Mapping[str, tuple[str, ...]] = {"cuda": ("ltoir",), "nvvm": ("rust", "nvvm")}
"""The steps from a source to device code, by the kind of the latter."""


def tools_of(steps: Iterable[str], toolkit: Toolkit, others: Mapping[str, Callable[[], str]]) -> dict[str, str]:
    """The identity of each tool that took part in `steps`, without its path, by name and in order of the names.

    `others` are asked for tools that are no components of the toolkit, and answer "" where there is none: a tool that
    is not there made nothing.
    """
    names = sorted({name for step in steps for name in MADE_WITH.get(step, ())})
    found = {}
    for name in names:
        if name in others:
            found[name] = others[name]()
        elif toolkit.component(name):
            found[name] = toolkit.identity(name)
    return {name: identity for name, identity in found.items() if identity}
