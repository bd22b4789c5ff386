"""Whatever the rules accept, the disassembler accepts. The reverse does not hold: it takes an export without output."""

from __future__ import annotations

from collections.abc import Callable

from hypothesis import HealthCheck, given, settings

from bytecode.samples import VERSION, full_spelling
from exports.strategies import export_sets
from tilewright.bytecode.modules import implementation_module, interface_module, merged_module, modules_of
from tilewright.bytecode.reader import read_module
from tilewright.bytecode.text import print_module
from tilewright.exports.model import ExportSet
from tilewright.exports.rules import ensure


@given(exports=export_sets())
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_what_the_rules_accept_the_disassembler_accepts(
    exports: ExportSet, disassemble: Callable[[bytes], str]
) -> None:
    ensure(exports)
    merged = merged_module(exports, version=VERSION)
    printed = full_spelling(disassemble(merged)).splitlines()
    ours = print_module(read_module(merged, "merged"), exports.library)
    assert ours.replace("\n    ", " ").replace("\n  ", "\n").splitlines()[1:-1] == printed


@given(exports=export_sets())
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_both_modules_of_any_export_set_read_back_equal(exports: ExportSet) -> None:
    modules = modules_of(exports, version=VERSION)
    assert read_module(modules.interface, "interface") == interface_module(exports, VERSION)
    assert read_module(modules.implementation, "catalog") == implementation_module(exports, VERSION)
    for export in exports.exports:
        for parameter in export.parameters:
            assert modules.text.count(f"%{parameter.name}: ") >= 2
