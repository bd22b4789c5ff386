"""Declarations and implementations compared by NVIDIA's own tool, which does so only when one module holds both."""

from __future__ import annotations

import os

from tilewright.bytecode.module import dotted
from tilewright.bytecode.modules import merged_module
from tilewright.exports.model import ExportSet
from tilewright.library.process import private_folder, run_tool
from tilewright.toolchain.shadow import tool_environment
from tilewright.toolchain.toolkit import Toolkit

_NOT_COMPARED = "interface and implementations were not compared by the disassembler: "


def crosscheck(exports: ExportSet, version: tuple[int, int], toolkit: Toolkit) -> str:
    """Empty when `tileirdisasm` accepts both descriptions in one module; LibraryError with its text when not.

    It reads preview content of its own version only, so without a disassembler of that version nothing is compared;
    the line to print then says so.
    """
    disassembler = toolkit.disassembler
    if disassembler is None:
        return f"{_NOT_COMPARED}the toolkit has no tileirdisasm"
    wanted = dotted(version)
    if ".".join(disassembler.version.split(".")[:2]) != wanted:
        return f"{_NOT_COMPARED}tileirdisasm is of version {disassembler.version}, the descriptions are of {wanted}"
    name = f"{exports.library}.tilebc"
    with private_folder({name: merged_module(exports, version=version)}) as folder:
        run_tool(
            [str(disassembler.path), "--preview=simt", name],
            folder=folder,
            environment=tool_environment(toolkit, os.environ),
            fault=f"tileirdisasm refuses the descriptions of `{exports.library}`",
            identity=f"tileirdisasm {disassembler.version} ({disassembler.path}, from {disassembler.origin})",
        )
    return ""
