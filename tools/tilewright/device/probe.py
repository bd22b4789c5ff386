"""The probe link: what LTOIR really defines, read off PTX, since its own body cannot be read.

A linker drops what nobody uses, so a second module refers to every symbol.  The PTX then lists each function as it was
defined, whatever the probe declared: `.visible .func relu_impl(.param .b32 .., .param .b64 ..)`; `.extern` is missing.
A parameter's size shows, its type does not (`int` and `float` are both `.b32`): the wrapper's own check has those.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from tilewright.device.module import DeviceError, DeviceModule
from tilewright.device.nvjitlink import link
from tilewright.device.nvvm import compile_ir
from tilewright.exports.abi import NativeParameter, native_parameters, prototype
from tilewright.exports.model import ExportSet, Sync, TileExport
from tilewright.exports.sizes import own_name
from tilewright.problem import Place, Problem

DATA_LAYOUT = (
    "e-p:64:64:64-i1:8:8-i8:8:8-i16:16:16-i32:32:32-i64:64:64-i128:128:128-f32:32:32-f64:64:64-"
    "v16:16:16-v32:32:32-v64:64:64-v128:128:128-n16:32:64"
)
PROBE_TEXT = """target triple = "nvptx64-nvidia-cuda"
target datalayout = "{layout}"
{declarations}
@llvm.used = appending global [{count} x i8*] [{uses}], section "llvm.metadata"
!nvvmir.version = !{{!0}}
!0 = !{{i32 2, i32 0}}
"""

PROVIDED = ("vprintf", "malloc", "free", "__assertfail")
"""Functions that device code may leave undefined: the driver has them."""

_FUNCTION = re.compile(
    r"^(?:\.(?P<linkage>visible|extern|weak) )?\.func\s*(?:\((?P<result>[^)]*)\))?\s*(?P<name>[\w$.]+)\s*"
    r"\((?P<parameters>[^)]*)\)",
    re.MULTILINE,
)
_WARP_TRAFFIC = re.compile(
    r"^\s*(?:@!?%p\d+\s+)?(?P<what>(?:shfl|vote|match|redux|bar\.warp)\.(?:\w+\.)?sync\S*)", re.MULTILINE
)
_BODY = re.compile(
    r"^(?:\.\w+ )?\.(?:func|entry)\s*(?:\([^)]*\))?\s*(?P<name>[\w$.]+)\s*\([^)]*\)[^;{]*\{(?P<body>.*?)^\}",
    re.MULTILINE | re.DOTALL,
)
_NAME = re.compile(r"[\w$.]+")
_PARAMETER = re.compile(r"\.param\s+(?:\.align\s+\d+\s+)?(?P<type>\.\w+)\s+[\w$.]+(?:\[(?P<count>\d+)\])?")
_SHARED = re.compile(r"^\s*(?:\.\w+\s+)*\.shared\s.*?(?P<name>[\w$]+)(?:\[\d*\])*;", re.MULTILINE)
_BLOCK_BARRIER = re.compile(
    r"^\s*(?:@!?%p\d+\s+)?(?P<what>(?:bar|barrier)(?:\.cta)?\.(?:sync|red|arrive)\S*)", re.MULTILINE
)


@dataclass(frozen=True, slots=True)
class PtxFunction:
    """One `.func`: parameter types such as `.b32`, `.b64`, or `.b8[2]` for an aggregate; `result` "" for none."""

    defined: bool
    result: str
    parameters: tuple[str, ...]


def probe(
    ltoir: bytes, source: DeviceModule, symbols: tuple[str, ...], arch: str, libraries: tuple[str, str, str]
) -> str:
    """Probe link of the LTOIR made from a source, giving PTX text. One link for all symbols, to be run by a worker.

    `arch` is the number with its suffix, `120a`; `libraries` are the paths of libNVVM, libdevice and nvJitLink.
    """
    nvvm, libdevice, nvjitlink = libraries
    declarations = "\n".join(f"declare void @{symbol}()" for symbol in symbols)
    uses = ", ".join(f"i8* bitcast (void ()* @{symbol} to i8*)" for symbol in symbols)
    text = PROBE_TEXT.format(layout=DATA_LAYOUT, declarations=declarations, count=len(symbols), uses=uses)
    user = compile_ir(DeviceModule("nvvm", text, source.name), f"compute_{arch}", nvvm, libdevice)
    linked = link([(source.name, ltoir), ("probe", user)], arch=f"sm_{arch}", nvjitlink=nvjitlink, ptx=True)
    return linked.decode()


def functions_of(ptx: str) -> dict[str, PtxFunction]:
    """Every `.func` of PTX text by name."""
    return {
        found["name"]: PtxFunction(
            defined=found["linkage"] != "extern",
            result=", ".join(_types(found["result"] or "")),
            parameters=tuple(_types(found["parameters"])),
        )
        for found in _FUNCTION.finditer(ptx)
    }


def reachable_code(ptx: str, symbols: Iterable[str]) -> tuple[set[str], str]:
    """The names that the code of `symbols` reaches, through every function it calls, and the text of that code."""
    bodies = {found["name"]: found["body"] for found in _BODY.finditer(ptx)}
    reached: set[str] = set()
    waiting, code = list(symbols), []
    while waiting:
        name = waiting.pop()
        if name in reached:
            continue
        reached.add(name)
        if name in bodies:
            code.append(bodies[name])
            waiting.extend(set(_NAME.findall(bodies[name])))
    return reached, "".join(code)


def problems_of(ptx: str, exports: ExportSet, source: str) -> list[Problem]:
    """Everything in which the probed code differs from its exports, and what no export may contain or call.

    That is: a symbol missing or with other parameters; a function nobody defines; shared memory; a block barrier;
    warp traffic where the threads of a warp do not call together.
    Kernels and functions of the same source that no export reaches are nobody's business here.
    """
    functions = functions_of(ptx)
    problems = [problem for export in exports.exports for problem in _differences(export, functions, source)]
    symbols = {export.symbol for export in exports.exports}
    reached, code = reachable_code(ptx, symbols)
    for name in sorted(functions.keys() & reached):
        if not functions[name].defined and name not in symbols and name not in PROVIDED:
            what = f"the device code calls `{name}`, which it does not define"
            problems.append(Problem(what, Place(source), hint="define it in this source or in a header it includes"))
    for name in sorted({found["name"] for text in (ptx, code) for found in _SHARED.finditer(text)} & reached):
        what = f"the device code declares shared memory, `{name}`, which a tile kernel's compiler alone can place"
        problems.append(Problem(what, Place(source), hint="keep to registers, the parameters and warp shuffles"))
    for instruction in sorted({found["what"].rstrip(";") for found in _BLOCK_BARRIER.finditer(code)}):
        what = (
            f"the device code waits for the whole block, `{instruction}`; a tile kernel's threads need not all call it"
        )
        problems.append(Problem(what, Place(source), hint='use `sync = "warp"` and `__syncwarp()`'))
    problems.extend(dict.fromkeys(_stray_warp_traffic(ptx, exports, source)))
    return problems


def _stray_warp_traffic(ptx: str, exports: ExportSet, source: str) -> Iterator[Problem]:
    """With `sync = "none"` each thread calls alone, so nobody answers a shuffle or a vote."""
    for export in exports.exports:
        if export.sync is Sync.NONE and (found := _WARP_TRAFFIC.search(reachable_code(ptx, [export.symbol])[1])):
            instruction = found["what"].rstrip(";")
            what = f"`{own_name(export)}`: its threads do not call together, yet it waits for a warp, `{instruction}`"
            yield Problem(what, export.where or Place(source), hint='add sync = "warp" to its attribute')


def _differences(export: TileExport, functions: Mapping[str, PtxFunction], source: str) -> Iterator[Problem]:
    where = export.where or Place(source)
    found = functions.get(export.symbol)
    if found is None or not found.defined:
        what = f"`{export.name}`: the device code does not define `{export.symbol}`"
        yield Problem(what, where, hint=f'define it: extern "C" __device__ {prototype(export)}')
        return
    expected = PtxFunction(True, "", tuple(_ptx_type(parameter) for parameter in native_parameters(export)))
    if found != expected:
        what = (
            f"`{export.name}`: the device code has `{_shown(export.symbol, found)}`, "
            f"the export needs `{_shown(export.symbol, expected)}`"
        )
        yield Problem(what, where, hint=f"the native function is: {prototype(export)}")


def _ptx_type(parameter: NativeParameter) -> str:
    """Integers below 32 bits are widened to `.b32`."""
    return ".b64" if not parameter.by_value or parameter.element.size == 8 else ".b32"


def _types(parameters: str) -> Iterator[str]:
    for found in _PARAMETER.finditer(parameters):
        yield found["type"] + (f"[{found['count']}]" if found["count"] else "")


def _shown(symbol: str, function: PtxFunction) -> str:
    result = f"({function.result}) " if function.result else ""
    return f".func {result}{symbol}({', '.join(function.parameters)})"


def ensure(ptx: str, exports: ExportSet, source: str) -> None:
    """Raises `DeviceError` with `problems_of`, if any."""
    if problems := problems_of(ptx, exports, source):
        raise DeviceError(problems)
