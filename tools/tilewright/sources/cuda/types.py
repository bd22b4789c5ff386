"""What C++ calls the element types. Spec: Parameters and the ABI."""

from __future__ import annotations

from difflib import get_close_matches

from tilewright.exports.abi import C_NAMES
from tilewright.exports.elements import ElementType

E = ElementType

_BY_WORDS: dict[tuple[str, ...], ElementType] = {
    **{tuple(sorted(name.split())): element for element, name in C_NAMES.items()},
    ("half",): E.F16,
    ("int", "short"): E.I16,
    ("short", "signed"): E.I16,
    ("int", "short", "signed"): E.I16,
    ("signed",): E.I32,
    ("int", "signed"): E.I32,
    ("int", "long", "long"): E.I64,
    ("long", "long", "signed"): E.I64,
    ("int", "long", "long", "signed"): E.I64,
    ("int", "short", "unsigned"): E.U16,
    ("unsigned",): E.U32,
    ("int", "long", "long", "unsigned"): E.U64,
    **{(f"int{8 * element.size}_t",): element for element in (E.I8, E.I16, E.I32, E.I64)},
    **{(f"uint{8 * element.size}_t",): element for element in (E.U8, E.U16, E.U32, E.U64)},
}

_CHOICES = f"the element types are {', '.join(C_NAMES.values())} and the fixed-width names such as uint32_t"
_HINTS = {
    "bool": "write unsigned char (0 and 1)",
    "char": "char is signed on some platforms and unsigned on others: write signed char or unsigned char",
    "long": "long has 64 bits on Linux and 32 on Windows: write long long or int",
    "unsigned long": "unsigned long has 64 bits on Linux and 32 on Windows: write unsigned long long or unsigned int",
    "long double": "write double",
    "size_t": "write unsigned long long",
    "std::size_t": "write unsigned long long",
    "__nv_bfloat16": "bf16 parameters are not part of this release: write __half or float",
    "nv_bfloat16": "bf16 parameters are not part of this release: write __half or float",
    "_Float16": "write __half (#include <cuda_fp16.h>)",
    "auto": "write the type out: the description is made before the compiler runs",
}
_VECTORS = {
    f"{name}{count}": f"write `{element} (&x)[{count}]`: {count} elements side by side"
    for name, element in (
        ("float", "float"), ("double", "double"), ("int", "int"), ("uint", "unsigned int"), ("half", "__half"),
        ("char", "signed char"), ("uchar", "unsigned char"), ("short", "short"), ("ushort", "unsigned short"),
        ("longlong", "long long"), ("ulonglong", "unsigned long long"),
    )
    for count in (2, 4)
}  # fmt: skip
_HINTS |= _VECTORS | {"__half2": _VECTORS["half2"]}


def element_named(words: str) -> ElementType | None:
    """The element type a C++ type name stands for, words in any order: `int unsigned` is u32. None if it is none."""
    name = words.removeprefix("::").removeprefix("cuda::")
    qualified = name.startswith("std::")
    element = _BY_WORDS.get(tuple(sorted(name.removeprefix("std::").split())))
    return element if not qualified or name.endswith("_t") else None


def hint_for(words: str) -> str:
    """What to write instead of a type that no element has."""
    canonical = " ".join(sorted(set(words.split()) - {"int", "signed"}, reverse=True)) if "long" in words else words
    close = get_close_matches(words, [" ".join(name) for name in _BY_WORDS if len(name) == 1], n=1, cutoff=0.75)
    return _HINTS.get(canonical) or _HINTS.get(words) or (f"did you mean {close[0]}?" if close else _CHOICES)
