"""A built shader read back."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tile import kernels
from tilewright.lowering.artifact import Format
from tilewright.lowering.cuda.lower import lower
from tilewright.runtime.errors import ShaderError
from tilewright.runtime.stored import stored_artifact


def test_the_description_and_the_ptx_are_the_whole_artifact() -> None:
    made = lower(kernels.swiglu.capture((4, 8), (4, 8), (4, 8)).function)
    read = stored_artifact(made.to_json(), b"ptx", "x.json")
    kept = replace(made, format=Format.PTX, source="ptx")
    assert read == replace(kept, fast_math=read.fast_math, fmad=read.fmad)
    assert read.arguments == made.arguments


@pytest.mark.parametrize("text", [b"", b"[]", b"{}", b'{"grid": [1]}', b"\xff"])
def test_another_file_describes_no_shader(text: bytes) -> None:
    with pytest.raises(ShaderError, match=r"`x\.json` does not describe a shader"):
        stored_artifact(text, b"", "x.json")
