"""The kernels of a cubin, told from its section names, so that a wrong name is an error without a GPU too."""

from __future__ import annotations

import re
import struct
from difflib import get_close_matches

from tilewright.callers.error import CallerError
from tilewright.device import magic
from tilewright.problem import Place, Problem

_HEADER = struct.Struct("<4sBBB9xHHIQQQIHHHHHH")
_SECTION = struct.Struct("<IIQQQQIIQQ")
_CUDA = 190
_ITANIUM = re.compile(r"_Z(?P<length>[1-9][0-9]*)(?P<rest>.+)")


def kernels_of(data: bytes, file: str) -> tuple[str, ...]:
    """The names of the kernels as the cubin has them, `_Z9call_reluPfS_`; CallerError for anything but a cubin."""
    if len(data) < _HEADER.size or data[:4] != magic.ELF:
        raise _no_cubin(file)
    fields = _HEADER.unpack_from(data)
    machine, table, size, count, names_at = fields[5], fields[9], fields[14], fields[15], fields[16]
    end = table + count * size
    if machine != _CUDA or size != _SECTION.size or end > len(data) or names_at >= count:
        raise _no_cubin(file)
    sections = list(_SECTION.iter_unpack(data[table:end]))
    start, length = sections[names_at][4], sections[names_at][5]
    names = data[start : start + length]
    found = (names[row[0] :].partition(b"\0")[0].decode("ascii", "replace") for row in sections)
    return tuple(name.removeprefix(".text.") for name in found if name.startswith(".text."))


def base_name(mangled: str) -> str:
    """The name in the source: `call_relu` for `_Z9call_reluPfS_`; names in namespaces stay as they are."""
    match = _ITANIUM.fullmatch(mangled)
    return match["rest"][: int(match["length"])] if match else mangled


def find_kernel(wanted: str, kernels: tuple[str, ...], file: str) -> str:
    """The full name of a kernel that is given by it or by its name in the source. CallerError for none or several."""
    if wanted in kernels:
        return wanted
    found = [name for name in kernels if base_name(name) == wanted]
    if len(found) == 1:
        return found[0]
    if found:
        hint = f"give the full name, one of {', '.join(found)}"
        raise CallerError([Problem(f"`{wanted}` names {len(found)} kernels", Place(file), hint)])
    plain = [base_name(name) for name in kernels]
    close = get_close_matches(wanted, plain, n=1)
    hint = (f"did you mean `{close[0]}`?\n" if close else "") + f"it has: {', '.join(plain) or 'none'}"
    raise CallerError([Problem(f"the cubin has no kernel `{wanted}`", Place(file), hint)])


def _no_cubin(file: str) -> CallerError:
    return CallerError([Problem("this is not a cubin", Place(file), "nvcc --tilecubin makes one")])
