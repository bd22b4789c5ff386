"""The few C++ standard headers that device code asks for and NVRTC does not have.

Fixed-width types have the widths and the spelling that `<cuda/std/cstdint>` gives them, so both can be included.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

_INTEGERS = "\n".join(
    f"typedef {spelling} {prefix}{size}_t;\ntypedef {spelling} {prefix}_least{size}_t;\n"
    f"typedef {spelling} {prefix}_fast{size}_t;"
    for prefix, sign in (("int", "signed"), ("uint", "unsigned"))
    for size, spelling in ((8, f"{sign} char"), (16, f"{sign} short"), (32, f"{sign} int"), (64, f"{sign} long long"))
)
_INTEGER_NAMES = [
    f"{prefix}{kind}{size}_t"
    for prefix in ("int", "uint")
    for kind in ("", "_least", "_fast")
    for size in (8, 16, 32, 64)
] + ["intptr_t", "uintptr_t", "intmax_t", "uintmax_t"]

_STDINT = f"""#pragma once
{_INTEGERS}
typedef signed long long intptr_t;
typedef unsigned long long uintptr_t;
typedef signed long long intmax_t;
typedef unsigned long long uintmax_t;
#ifndef INT8_MAX
#define INT8_MIN (-128)
#define INT8_MAX 127
#define UINT8_MAX 255
#define INT16_MIN (-32767 - 1)
#define INT16_MAX 32767
#define UINT16_MAX 65535
#define INT32_MIN (-2147483647 - 1)
#define INT32_MAX 2147483647
#define UINT32_MAX 4294967295U
#define INT64_MIN (-9223372036854775807LL - 1)
#define INT64_MAX 9223372036854775807LL
#define UINT64_MAX 18446744073709551615ULL
#endif
"""

_STDDEF = """#pragma once
typedef decltype(sizeof(0)) size_t;
typedef decltype((char*)0 - (char*)0) ptrdiff_t;
#ifndef NULL
#define NULL 0
#endif
#ifndef offsetof
#define offsetof(type, member) __builtin_offsetof(type, member)
#endif
"""


def _in_std(c_header: str, names: Iterable[str]) -> str:
    using = "\n".join(f"using ::{name};" for name in names)
    return f"#pragma once\n#include <{c_header}>\nnamespace std {{\n{using}\n}}\n"


STANDARD_HEADERS = {
    "stdint.h": _STDINT,
    "cstdint": _in_std("stdint.h", _INTEGER_NAMES),
    "stddef.h": _STDDEF,
    "cstddef": _in_std("stddef.h", ("size_t", "ptrdiff_t")),
}

_NEEDS = {"cstdint": "stdint.h", "cstddef": "stddef.h"}
_INCLUDE = re.compile(r"^[ \t]*#[ \t]*include[ \t]*[<\"]([^>\"\n]+)[>\"]", re.MULTILINE)


def missing_standard_headers(texts: Iterable[str], include: Iterable[Path]) -> tuple[tuple[str, str], ...]:
    """(name, text) of every header of the table that a text includes and no folder of `include` offers."""
    folders = tuple(include)
    asked = {name for text in texts for name in _INCLUDE.findall(text)} & STANDARD_HEADERS.keys()
    asked |= {_NEEDS[name] for name in asked if name in _NEEDS}
    absent = (name for name in sorted(asked) if not any((folder / name).is_file() for folder in folders))
    return tuple((name, STANDARD_HEADERS[name]) for name in absent)
