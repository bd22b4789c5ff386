"""The module header of NVVM IR: triple, data layout, IR version. Nothing of the host stays."""

from __future__ import annotations

import re

TRIPLE = "nvptx64-nvidia-cuda"
DATA_LAYOUT = (
    "e-p:64:64:64-i1:8:8-i8:8:8-i16:16:16-i32:32:32-i64:64:64-i128:128:128-f32:32:32-f64:64:64-"
    "v16:16:16-v32:32:32-v64:64:64-v128:128:128-n16:32:64"
)
"""The full form: the short ones are refused by libNVVM when it makes PTX for the newer architectures."""

VERSION = "!nvvmir.version = !{!0}\n!0 = !{i32 2, i32 0}\n"

_HOST = re.compile(r"^(?:; ModuleID|source_filename|target (?:triple|datalayout)|module asm|!)[^\n]*\n", re.MULTILINE)
_ATTACHED = re.compile(r"(?:, ![A-Za-z_][\w.]* ![\d{}]+)+$", re.MULTILINE)


def retarget_header(text: str, name: str) -> str:
    """Replaces the header and drops all metadata. `name` is a logical name: it must not depend on any folder."""
    body = _ATTACHED.sub("", _HOST.sub("", text + "\n")).strip("\n")
    head = f'source_filename = "{name}"\ntarget datalayout = "{DATA_LAYOUT}"\ntarget triple = "{TRIPLE}"\n'
    return f"{head}\n{body}\n\n{VERSION}"
