"""PTX by the real libNVVM, for what LTOIR does not show: functions that nobody defines."""

from __future__ import annotations

import re
from pathlib import Path

from cuda.bindings import nvvm


def ptx(text: str, arch: str, libdevice: str) -> str:
    """Verified and compiled with libdevice; the log in the AssertionError when refused. To be run by a worker."""
    program = nvvm.create_program()
    options = [f"-arch={arch}"]
    library = Path(libdevice).read_bytes()
    try:
        nvvm.add_module_to_program(program, text.encode(), len(text.encode()), "tilewright")
        nvvm.lazy_add_module_to_program(program, library, len(library), "libdevice")
        try:
            nvvm.verify_program(program, len(options), options)
            nvvm.compile_program(program, len(options), options)
        except nvvm.nvvmError:
            log = bytearray(nvvm.get_program_log_size(program))
            nvvm.get_program_log(program, log)
            raise AssertionError(log.decode()) from None
        result = bytearray(nvvm.get_compiled_result_size(program))
        nvvm.get_compiled_result(program, result)
        return result.decode()
    finally:
        nvvm.destroy_program(program)


def externs(text: str) -> list[str]:
    """The `.extern` lines of PTX."""
    return re.findall(r"^\.extern.*$", text, re.MULTILINE)


def body(text: str, symbol: str) -> str:
    """The PTX of one function."""
    start = re.search(rf"^\.visible \.func {symbol}\b", text, re.MULTILINE)
    assert start, f"{symbol} is not in the PTX"
    return text[start.start() : text.index("\n}", start.start())]
