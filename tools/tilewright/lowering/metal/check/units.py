"""From MSL to what clang compiles: the one rewrite, the reading of a kernel's signature, the call of one thread.

Only the check reads signatures from text: it takes MSL of any origin. Lowerings keep their launch in fields.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from tilewright.lowering.artifact import DeviceArtifact
from tilewright.lowering.errors import LoweringError
from tilewright.problem import Place, Problem

STORAGE = re.compile(
    r"^(?P<indent>[ \t]*)threadgroup\s+(?P<type>[A-Za-z_][\w ]*?)\s+(?P<name>[A-Za-z_]\w*)\s*"
    r"(?P<sizes>(?:\[[^\]\n]+\]\s*)*);",
    re.MULTILINE,
)
"""A threadgroup variable at the start of a statement, not a pointer."""

BUILTINS = {
    "thread_position_in_grid": ("at.group[{i}] * at.threads[{i}] + at.local[{i}]", 3),
    "threadgroup_position_in_grid": ("at.group[{i}]", 3),
    "thread_position_in_threadgroup": ("at.local[{i}]", 3),
    "threads_per_threadgroup": ("at.threads[{i}]", 3),
    "threadgroups_per_grid": ("at.groups[{i}]", 3),
    "threads_per_grid": ("at.groups[{i}] * at.threads[{i}]", 3),
    "thread_index_in_threadgroup": ("at.linear", 1),
    "thread_index_in_simdgroup": ("at.lane", 1),
    "simdgroup_index_in_threadgroup": ("at.subgroup", 1),
    "simdgroups_per_threadgroup": ("at.subgroups", 1),
    "threads_per_simdgroup": ("32u", 1),
}
"""What a position attribute is, of one coordinate; up to how many coordinates it has."""

POSITION = re.compile(r"(uint|ushort)([23]?)")
PARAMETER = re.compile(
    r"(?P<type>.*?)(?P<name>\w+)\s*\[\[\s*(?P<attribute>\w+)\s*(?:\(\s*(?P<slot>\d+)\s*\))?\s*\]\]", re.DOTALL
)
HEAD = r"(?:\bkernel\b|\[\[\s*kernel\b[^\]]*\]\])\s+void\s+{entry}\s*\("
"""The start of a kernel, whose mark is a word or an attribute."""


@dataclass(frozen=True, slots=True)
class Msl:
    """MSL to be checked: a name for messages, the text, its entry, the language version (300 or 400)."""

    name: str
    source: str
    entry: str
    version: int = 300

    @classmethod
    def of(cls, artifact: DeviceArtifact, name: str = "") -> Msl:
        """The text of an artifact."""
        version = 400 if artifact.requires_metal4 else 300
        return cls(name or f"{artifact.entry}.metal", artifact.source, artifact.entry, version)


def unit(kernels: Sequence[tuple[int, Msl]]) -> str:
    """One translation unit of kernels by number; each keeps its own lines and names."""
    headers = ["metal_stdlib"]
    if any(kernel.version >= 400 for _, kernel in kernels):
        headers += [
            "metal_tensor",
            "metal_cooperative_tensor",
            "MetalPerformancePrimitives/MetalPerformancePrimitives.h",
        ]
    lines = [f"#include <{header}>" for header in headers] + [STORAGE_MACRO]
    for number, kernel in kernels:
        lines += [f"namespace tw_{number} {{", f'#line 1 "{kernel.name}"', rewritten(kernel.source), "}"]
    lines += ["#ifndef TW_CHECK", '#line 1 "call of a thread"']
    lines += [thread_call(number, kernel) for number, kernel in kernels]
    return "\n".join([*lines, "#endif", ""])


STORAGE_MACRO = """\
#ifdef TW_CHECK
#define TW_STORAGE(type, name, sizes, key) static threadgroup type name sizes
#else
#define TW_STORAGE(type, name, sizes, key) \\
  type(&name) sizes = *(type(*) sizes)tw::storage(key, sizeof(type sizes), __LINE__)
#endif"""


def rewritten(source: str) -> str:
    """Threadgroup variables as storage of the runtime; line numbers stay."""
    numbers = iter(range(source.count("threadgroup") + 1))

    def storage(found: re.Match[str]) -> str:
        return (
            f"{found['indent']}TW_STORAGE({found['type']}, {found['name']}, {found['sizes'].strip()}, {next(numbers)});"
        )

    return STORAGE.sub(storage, source)


def dispatcher(count: int) -> str:
    """The unit that calls kernels by number."""
    names = [f"tw_kernel_{number}" for number in range(count)]
    declared = "\n".join(f"void {name}(void **);" for name in names)
    return f"""\
#include "tw_runtime.h"
{declared}
static void (*const kernels[])(void **) = {{{", ".join(names)}}};
void tw::call(int kernel, void **slots) {{ kernels[kernel](slots); }}
"""


def thread_call(number: int, kernel: Msl) -> str:
    """What one thread does: the kernel with its buffers and its positions."""
    arguments = [argument(kernel, number, parameter) for parameter in parameters(kernel)]
    problems = [each for each in arguments if isinstance(each, Problem)]
    if problems:
        raise LoweringError(problems)
    words = ", ".join(str(each) for each in arguments)
    return (
        f"void tw_kernel_{number}(void **slots) {{ using namespace metal; using namespace tw_{number}; "
        f"const tw::Place &at = tw::here(); (void)at; (void)slots; tw_{number}::{kernel.entry}({words}); }}"
    )


def argument(kernel: Msl, number: int, parameter: str) -> str | Problem:
    """The C++ expression of one kernel argument."""
    found = PARAMETER.fullmatch(parameter.strip())
    if found is None:
        return rejected(kernel, f"parameter `{' '.join(parameter.split())}` has no attribute")
    type, attribute = found["type"].strip().removesuffix("__restrict").rstrip(), found["attribute"]
    if attribute == "buffer":
        return buffer(kernel, type, found["slot"])
    if attribute not in BUILTINS:
        return rejected(kernel, f"attribute [[{attribute}]] is not known")
    expression, most = BUILTINS[attribute]
    shape = POSITION.fullmatch(type)
    if shape is None or int(shape[2] or 1) > most:
        return rejected(kernel, f"[[{attribute}]] cannot be of type {type}")
    values = [expression.format(i=place) for place in range(int(shape[2] or 1))]
    return f"{type}{{{', '.join(f'({shape[1]})({value})' for value in values)}}}"


def buffer(kernel: Msl, type: str, slot: str | None) -> str | Problem:
    """A pointer into a slot, or what it points at for a reference."""
    space = re.match(r"(const\s+)?(device|constant)\b", type)
    if slot is None or int(slot) > 30:
        return rejected(kernel, f"[[buffer({slot or ''})]] is not a slot of 0 to 30")
    if space is None or type[-1] not in "*&":
        return rejected(kernel, f"a buffer cannot be of type {type}: a pointer or reference to device or constant")
    pointer = f"({type[:-1].strip()} *)slots[{slot}]"
    return pointer if type[-1] == "*" else f"*({pointer})"


def parameters(kernel: Msl) -> Iterator[str]:
    """The parameters of the entry as text; slots are checked to be distinct."""
    text = re.sub(r"//[^\n]*", "", kernel.source)
    head = re.search(HEAD.format(entry=re.escape(kernel.entry)), text)
    if head is None:
        raise LoweringError([rejected(kernel, f"no `kernel void {kernel.entry}(`")])
    depth, start, found = 0, head.end(), []
    for place in range(head.end(), len(text)):
        character = text[place]
        if depth == 0 and character in ",)":
            found.append(text[start:place])
            start = place + 1
            if character == ")":
                break
        depth += (character in "([{<") - (character in ")]}>")
    slots = re.findall(r"\[\[\s*buffer\s*\(\s*(\d+)\s*\)\s*\]\]", " ".join(found))
    if len(set(slots)) != len(slots):
        raise LoweringError([rejected(kernel, "two parameters have one buffer slot")])
    yield from (each for each in found if each.strip())


def rejected(kernel: Msl, what: str) -> Problem:
    return Problem(f"MSL check: {what}", Place(kernel.name), rule="msl-signature")
