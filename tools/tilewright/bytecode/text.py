"""The readable text of a module, in the syntax of the specification's dump. Spec: Reading the dump."""

from __future__ import annotations

from collections.abc import Sequence

from tilewright.bytecode.attributes import ConstParam
from tilewright.bytecode.expressions import Expression
from tilewright.bytecode.module import Module
from tilewright.bytecode.records import ACCESS_KEY, Argument, Declaration, Implementation
from tilewright.bytecode.spelling import bare_or_quoted, quoted, symbol
from tilewright.bytecode.types import Value, results_text


def print_module(module: Module, name: str) -> str:
    """`cuda_tile.module @name { … }` with one entry a line and a final newline.

    Arguments keep their names where the value has them; a module read from bytecode shows `%arg0`, `%arg1`, …
    """
    spelled: dict[Value, str] = {}
    lines = [f"cuda_tile.module {symbol(name)} {{"]
    lines += (declaration_text(record, spelled) for record in module.declarations)
    lines += (implementation_text(record, spelled) for record in module.implementations)
    return "\n".join([*lines, "}", ""])


def declaration_text(record: Declaration, spelled: dict[Value, str]) -> str:
    """The line of a declaration; several results stand in parentheses. `spelled` keeps the texts of types."""
    results = [type_text(result, spelled) for result in record.results]
    arrow = f" -> {results_text(results)}" if results else ""
    return (
        f"  cuda_tile.preview$func extern {symbol(record.name)}{const_params_text(record.const_params)}"
        f"({arguments_text(record.arguments, spelled)}){arrow}"
    )


def implementation_text(record: Implementation, spelled: dict[Value, str]) -> str:
    """The line of an implementation, then one indented line for each optional field."""
    lines = [
        f"  cuda_tile.preview$extern_impl {symbol(record.name)}{const_params_text(record.const_params)}"
        f" implements {symbol(record.implements)}{const_args_text(record.const_args)}"
        f"({arguments_text(record.arguments, spelled)})"
    ]
    if record.synchronization is not None:
        lines.append(f"synchronization = {record.synchronization.text()}")
    if record.arch:
        lines.append(f"arch = [{', '.join(map(quoted, record.arch))}]")
    if record.scratch_smem is not None:
        lines.append(f"scratch {{{record.scratch_smem.fields}}}")
    extra = []
    if record.frontend_abi is not None:
        extra.append(f"frontendABI = {record.frontend_abi.text()}")
    if record.provider_score is not None:
        extra.append(f"provider_score = {record.provider_score} : i64")
    if extra:
        lines.append(f"{{{', '.join(extra)}}}")
    return "\n    ".join(lines)


def arguments_text(arguments: Sequence[Argument], spelled: dict[Value, str]) -> str:
    """Name, type and access of each argument."""
    return ", ".join(
        f"%{bare_or_quoted(argument.name or f'arg{number}')}: {type_text(argument.type, spelled)}"
        f" {{{ACCESS_KEY} = {argument.access.text()}}}"
        for number, argument in enumerate(arguments)
    )


def type_text(value: Value, spelled: dict[Value, str]) -> str:
    """The text of a type, made once."""
    text = spelled.get(value)
    if text is None:
        text = spelled[value] = value.text()
    return text


def const_params_text(const_params: Sequence[ConstParam]) -> str:
    """`<[N: index]>`, or nothing."""
    return f"<[{', '.join(param.short() for param in const_params)}]>" if const_params else ""


def const_args_text(const_args: Sequence[Expression]) -> str:
    """`<[N]>`, or nothing."""
    return f"<[{', '.join(arg.short() or arg.text() for arg in const_args)}]>" if const_args else ""
