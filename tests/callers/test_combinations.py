"""Every element type with every way to pass it, every footprint and both kinds of synchronisation.

One source for each tile size with all combinations inside; one link for each tile size and LTOIR architecture.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from callers.libraries import bundle_of, cuda_library, ltoir_of
from tilewright.callers.emulate import emulate_bundle
from tilewright.callers.mock.caller import checked_exports
from tilewright.callers.mock.linked import caller_ltoir, link_mock
from tilewright.device.workers import Workers
from tilewright.exports.abi import C_NAMES
from tilewright.exports.elements import ElementType
from tilewright.exports.model import Access, ExportSet
from tilewright.toolchain.toolkit import Toolkit

SIZES = (32, 64, 128, 256)
FOOTPRINTS = (1, 2, 4, 8)
SUPPORT = """\
#include <cuda_fp16.h>
template <typename T> __device__ T other(T x) { return T(__shfl_xor_sync(0xffffffffu, x, 1)); }
template <> __device__ signed char other(signed char x) { return __shfl_xor_sync(0xffffffffu, int(x), 1); }
template <> __device__ unsigned char other(unsigned char x) { return __shfl_xor_sync(0xffffffffu, unsigned(x), 1); }
template <> __device__ short other(short x) { return __shfl_xor_sync(0xffffffffu, int(x), 1); }
template <> __device__ unsigned short other(unsigned short x) { return __shfl_xor_sync(0xffffffffu, unsigned(x), 1); }
template <typename T> __device__ T both(T x, T y) { return T(x - y); }
"""

FORMS = {
    "value": "T {f}(T x, T y) {{ return both({x}, y); }}",
    "reference": "T {f}(const T& x, T y) {{ return both({x}, y); }}",
    "inout": "void {f}(T x, T& y) {{ y = both({x}, y); }}",
    "several": "T {f}(const T& x, T& y) {{ T old = y; y = both({x}, y); return old; }}",
    "three": "void {f}(T x, T& y, T& z) {{ y = both({x}, y); z = both(z, y); }}",
}
"""Footprint 1: by value, by reference, in place, a result beside an in-out parameter, two of these."""

ARRAYS = "void {f}(const T (&x)[{n}], T (&y)[{n}]) {{ for (int i = 0; i < {n}; ++i) y[i] = both({last}, y[i]); }}"


def exported(size: int) -> Iterator[str]:
    """A declaration for every combination that the rules allow at a tile size."""
    for element, sync in itertools.product(ElementType, ("none", "warp")):
        bodies = [(form, 1, body) for form, body in FORMS.items()]
        bodies += [(f"array{footprint}", footprint, ARRAYS) for footprint in FOOTPRINTS]
        for form, footprint, body in bodies:
            if size % (footprint * (32 if sync == "warp" else 1)):
                continue
            name = f"{element.label}_{form}_{sync}"
            x, last = "x", f"x[{footprint} - 1 - i]"
            if sync == "warp":
                x, last = f"other({x})", f"other({last})"
            text = body.format(f=name, n=footprint, x=x, last=last)
            typed = re.sub(r"\bT\b", C_NAMES[element], text)
            yield f'[[tile_export(tile_shape = {size}, sync = "{sync}")]] __device__ {typed}'


def combinations_of(exports: ExportSet) -> set[tuple[ElementType, Access, bool, int, int]]:
    """Element type, access, by value or not, footprint and participants of every parameter."""
    return {
        (parameter.element, parameter.access, parameter.by_value, parameter.footprint, export.participants)
        for export in exports.exports
        for parameter in export.parameters
    }


def test_the_table_holds_every_combination_that_the_rules_allow(tmp_path: Path) -> None:
    found = combinations_of(cuda_library(tmp_path, SUPPORT + "\n".join(exported(256))).exports)
    expected = set()
    for element, access, footprint, participants in itertools.product(ElementType, Access, FOOTPRINTS, (1, 32)):
        if access is not Access.OUT or footprint == 1:
            expected.add((element, access, False, footprint, participants))
    expected |= {(element, Access.IN, True, 1, participants) for element in ElementType for participants in (1, 32)}
    assert found == expected


@pytest.mark.parametrize("size", SIZES)
def test_every_combination_links_everywhere_and_passes_emulated(
    size: int, tmp_path: Path, toolkit: Toolkit, workers: Workers, compiler: str
) -> None:
    library = cuda_library(tmp_path, SUPPORT + "\n".join(exported(size)))
    for arch in ("compute_75", "sm_120"):
        target = arch.replace("compute", "sm")
        ltoir = ltoir_of(library, arch, toolkit, workers)
        callers = caller_ltoir(checked_exports(library.exports), arch=arch, toolkit=toolkit, workers=workers)
        ptx = link_mock(ltoir, callers, name="l", arch=target, toolkit=toolkit, workers=workers, ptx=True).decode()
        assert ptx.count(".visible .entry tilewright_mock_") == len(library.exports.exports)
        assert "call" not in ptx, "an implementation was not inlined, so caller and library disagree on its ABI"
    bundle = bundle_of(library, toolkit, workers, compiler, arch="sm_90")
    report = emulate_bundle(bundle, workers=workers, compiler=compiler, include=toolkit.include)
    assert report.passed, report.text()
    assert report.summary.startswith(f"SUCCESS: {len(library.exports.exports)}/{len(library.exports.exports)} ")
