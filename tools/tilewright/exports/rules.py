"""The table of every rule an export has to keep, and the one place that applies them.

A rule is a function that yields a `Problem` for each fault; its name states the fault, its docstring is its row in the
reference. Spec: Rules the tooling enforces; Parameters and the ABI; Attribute arguments.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass, replace

from tilewright.exports import access_rules, accuracy_rules, name_rules, shape_rules, size_list_rules
from tilewright.exports.model import ExportSet, TileExport
from tilewright.problem import Problem, ProblemError


class ExportError(ProblemError):
    """Exports, or the description of them, that cannot be used; carries every problem found."""


@dataclass(frozen=True, slots=True)
class Rule:
    """A rule on one export."""

    name: str
    check: Callable[[TileExport], Iterator[Problem]]


@dataclass(frozen=True, slots=True)
class SetRule:
    """A rule on the whole set; its check is also given the name of every function in the user's source."""

    name: str
    check: Callable[[ExportSet, frozenset[str]], Iterator[Problem]]


RULES = (
    Rule("tile-shape-not-positive", shape_rules.tile_shape_not_positive),
    Rule("tile-shape-not-power-of-two", shape_rules.tile_shape_not_power_of_two),
    Rule("tile-shape-too-large", shape_rules.tile_shape_too_large),
    Rule("footprint-not-positive", shape_rules.footprint_not_positive),
    Rule("footprint-mismatch", shape_rules.footprint_mismatch),
    Rule("footprint-not-a-divisor", shape_rules.footprint_not_a_divisor),
    Rule("warp-not-filled", shape_rules.warp_not_filled),
    Rule("listed-size-not-positive", size_list_rules.listed_size_not_positive),
    Rule("listed-size-not-power-of-two", size_list_rules.listed_size_not_power_of_two),
    Rule("listed-size-too-large", size_list_rules.listed_size_too_large),
    Rule("listed-size-twice", size_list_rules.listed_size_twice),
    Rule("listed-size-not-covered", size_list_rules.listed_size_not_covered),
    Rule("listed-size-without-warps", size_list_rules.listed_size_without_warps),
    Rule("size-list-beside-tile-shape", size_list_rules.size_list_beside_tile_shape),
    Rule("no-output", access_rules.no_output),
    Rule("split-outputs", access_rules.split_outputs),
    Rule("out-without-return", access_rules.out_without_return),
    Rule("value-not-scalar-input", access_rules.value_not_scalar_input),
    Rule("return-slot-not-last", access_rules.return_slot_not_last),
    Rule("return-slot-misnamed", access_rules.return_slot_misnamed),
    Rule("return-slot-not-out", access_rules.return_slot_not_out),
    Rule("duplicate-parameter", access_rules.duplicate_parameter),
    Rule("parameter-takes-return-slot", access_rules.parameter_takes_return_slot),
    Rule("parameter-takes-extent", access_rules.parameter_takes_extent),
    Rule("arch-malformed", access_rules.arch_malformed),
    Rule("duplicate-arch", access_rules.duplicate_arch),
    Rule("max-ulps-negative", accuracy_rules.max_ulps_negative),
    Rule("doc-control-character", access_rules.doc_control_character),
)

SET_RULES = (
    SetRule("not-an-identifier", name_rules.not_an_identifier),
    SetRule("reserved-prefix", name_rules.reserved_prefix),
    SetRule("keyword-name", name_rules.keyword_name),
    SetRule("compiler-name", name_rules.compiler_name),
    SetRule("empty-library", name_rules.empty_library),
    SetRule("duplicate-name", name_rules.duplicate_name),
    SetRule("duplicate-symbol", name_rules.duplicate_symbol),
    SetRule("symbol-is-a-declaration", name_rules.symbol_is_a_declaration),
    SetRule("symbol-is-a-function", name_rules.symbol_is_a_function),
    SetRule("name-of-a-size", name_rules.name_of_a_size),
)


def check(exports: ExportSet, *, functions: Collection[str] = ()) -> list[Problem]:
    """Every violation in the set, export by export in table order, then those of the whole set.

    `functions` names every function that the user's source defines or declares.
    """
    problems: list[Problem] = []
    for export in exports.exports:
        for rule in RULES:
            problems += (
                replace(problem, rule=rule.name, where=problem.where or export.where) for problem in rule.check(export)
            )
    written = frozenset(functions)
    for set_rule in SET_RULES:
        problems += (replace(problem, rule=set_rule.name) for problem in set_rule.check(exports, written))
    return list(dict.fromkeys(problems))


def ensure(exports: ExportSet, functions: Collection[str] = ()) -> None:
    """Raises `ExportError` with every violation, if there is one."""
    if problems := check(exports, functions=functions):
        raise ExportError(problems)


def rules_reference() -> str:
    """The rules as a Markdown table: name, the fault it finds, the section of the specification."""
    lines = ["| Rule | Fault | Specification |", "| --- | --- | --- |"]
    rows: tuple[Rule | SetRule, ...] = (*RULES, *SET_RULES)
    for rule in rows:
        words = " ".join((rule.check.__doc__ or "").split())
        fault, _, section = words.partition(" Spec: ")
        lines.append(f"| `{rule.name}` | {fault} | {section.removesuffix('.')} |")
    return "\n".join(lines) + "\n"
