"""Every rule has a folder `rules/<name>/`: `bad.json` breaks it alone, `good.json` breaks none, `message.txt` is all
that a user sees. Every rule can be broken in a description, so none needs a case built in Python; what only a source
can bring (its other functions, its language) is tested below.
"""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from exports.hints import PROSE, after
from tilewright.exports.description import parse_description
from tilewright.exports.elements import ElementType
from tilewright.exports.model import Access, ExportSet, Parameter, Sync, TileExport
from tilewright.exports.rules import RULES, SET_RULES, ExportError, check, ensure, rules_reference
from tilewright.problem import Place, Problem

CASES = Path(__file__).parent / "rules"
NAMES = [rule.name for rule in (*RULES, *SET_RULES)]
SECTIONS = {
    "Attribute arguments",
    "Building the library",
    "Parameters and the ABI",
    "Rules the tooling enforces",
    "The provider form",
    "Writing an export",
}


def problems_of(data: bytes, file: str = "bad.json") -> tuple[Problem, ...]:
    with pytest.raises(ExportError) as caught:
        parse_description(data, file)
    return caught.value.problems


def test_every_rule_has_a_folder_and_every_folder_a_rule() -> None:
    assert sorted(NAMES) == sorted(folder.name for folder in CASES.iterdir())
    assert len(set(NAMES)) == len(NAMES)
    for folder in CASES.iterdir():
        assert sorted(file.name for file in folder.iterdir()) == ["bad.json", "good.json", "message.txt"]


@pytest.mark.parametrize("name", NAMES)
def test_the_bad_description_breaks_that_rule_alone_with_the_exact_message(name: str) -> None:
    with pytest.raises(ExportError) as caught:
        parse_description((CASES / name / "bad.json").read_bytes(), "bad.json")
    assert {problem.rule for problem in caught.value.problems} == {name}
    assert f"{caught.value}\n" == (CASES / name / "message.txt").read_text(encoding="utf-8")


@pytest.mark.parametrize("name", NAMES)
def test_the_good_description_breaks_no_rule(name: str) -> None:
    assert parse_description((CASES / name / "good.json").read_bytes(), "good.json").exports


@pytest.mark.parametrize("name", [name for name in NAMES if name not in PROSE])
def test_doing_what_the_hint_says_satisfies_every_rule(name: str) -> None:
    data = (CASES / name / "bad.json").read_bytes()
    (problem,) = problems_of(data)
    repaired = after(json.loads(data), problem)
    assert parse_description(json.dumps(repaired).encode(), "repaired.json").exports


def parameter(name: str, access: Access = Access.IN, footprint: int = 1, **fields: Any) -> Parameter:
    fields.setdefault("by_value", access is Access.IN and footprint == 1)
    return Parameter(name, ElementType.F32, access, footprint, **fields)


def export(*parameters: Parameter, **fields: Any) -> TileExport:
    chosen = parameters or (parameter("x"), parameter("relu_out", Access.OUT, is_return=True))
    base = TileExport("relu", "relu_impl", "relu", chosen, 128)
    return replace(base, **fields)


def broken(*exports: TileExport, library: str = "example", functions: tuple[str, ...] = ()) -> list[str]:
    return [problem.rule for problem in check(ExportSet(library, exports), functions=functions)]


@pytest.mark.parametrize("size", [None, 1, 2, 32, 128, 2**24])
def test_powers_of_two_up_to_the_largest_are_tile_sizes(size: int | None) -> None:
    assert broken(export(tile_shape=size)) == []


@pytest.mark.parametrize(
    ("size", "rules"),
    [
        (-128, ["tile-shape-not-positive"]),
        (3, ["tile-shape-not-power-of-two"]),
        (127, ["tile-shape-not-power-of-two"]),
        (2**24 + 1, ["tile-shape-not-power-of-two", "tile-shape-too-large"]),
        (2**25, ["tile-shape-too-large"]),
        (10**4000 + 1, ["tile-shape-not-power-of-two", "tile-shape-too-large"]),
    ],
)
def test_other_numbers_are_not(size: int, rules: list[str]) -> None:
    assert broken(export(tile_shape=size)) == rules


@pytest.mark.parametrize(
    ("footprint", "sync", "size", "rules"),
    [
        (4, Sync.NONE, 4, []),
        (4, Sync.NONE, 2, ["footprint-not-a-divisor"]),
        (3, Sync.NONE, None, ["footprint-not-a-divisor"]),
        (1, Sync.WARP, 32, []),
        (1, Sync.WARP, 16, ["warp-not-filled"]),
        (4, Sync.WARP, 128, []),
        (4, Sync.WARP, 64, ["warp-not-filled"]),
        (2**19, Sync.WARP, None, []),
        (2**20, Sync.WARP, None, ["warp-not-filled"]),
        (2**24, Sync.NONE, None, []),
        (2**25, Sync.NONE, None, ["footprint-not-a-divisor"]),
    ],
)
def test_invocations_cover_the_tile(footprint: int, sync: Sync, size: int | None, rules: list[str]) -> None:
    assert broken(export(parameter("x", Access.INOUT, footprint), sync=sync, tile_shape=size)) == rules


def test_a_parametric_warp_export_that_no_tile_can_fill_says_so() -> None:
    (problem,) = check(
        ExportSet("example", (export(parameter("x", Access.INOUT, 2**20), sync=Sync.WARP, tile_shape=None),))
    )
    assert problem.what == "`relu`: no tile fills whole warps of 32 lanes x footprint 1048576"
    assert problem.hint == "write `float (&x)[524288]`"


@pytest.mark.parametrize(
    ("order", "rules"),
    [
        ("io", []),
        ("oi", []),
        ("ioi", []),
        ("ioo", []),
        ("oio", ["split-outputs"]),
        ("ioio", ["split-outputs"]),
        ("oiio", ["split-outputs"]),
        ("oioio", ["split-outputs"]),
        ("ii", ["no-output"]),
        ("", ["no-output"]),
    ],
)
def test_outputs_are_one_run(order: str, rules: list[str]) -> None:
    access = {"i": Access.IN, "o": Access.INOUT}
    parameters = tuple(parameter(f"p{at}", access[letter]) for at, letter in enumerate(order))
    assert broken(replace(export(), parameters=parameters)) == rules


def test_the_first_of_several_stray_inputs_is_named() -> None:
    parameters = (
        parameter("a", Access.INOUT),
        parameter("b"),
        parameter("c"),
        parameter("relu_out", Access.OUT, is_return=True),
    )
    (problem,) = check(ExportSet("example", (export(*parameters),)))
    assert problem.what == "`relu`: input `b` stands between two outputs"
    assert problem.hint == "write the inputs first: b, c, a"


def test_a_return_value_beside_fragments_of_four_becomes_a_parameter() -> None:
    parameters = (parameter("x", footprint=4), parameter("relu_out", Access.OUT, is_return=True))
    (problem,) = check(ExportSet("example", (export(*parameters, where=Place("a.rs", 3, 1)),)))
    assert problem.rule == "footprint-mismatch"
    assert problem.hint == "return nothing and write the result through `relu_result: &mut [f32; 4]`"


def test_the_specifications_window_is_refused_with_the_form_it_accepts() -> None:
    parameters = (
        Parameter("acc", ElementType.I32, Access.INOUT, 4),
        Parameter("bias", ElementType.I32, Access.IN, where=Place("window.rs", 4, 30)),
    )
    window = TileExport("window", "window_impl", "window", parameters, 128, where=Place("window.rs", 4, 1))
    with pytest.raises(ExportError) as caught:
        ensure(ExportSet("example", (window,)))
    assert str(caught.value) == (
        "window.rs:4:30: error: `window`: `acc` has footprint 4, `bias` has 1 [footprint-mismatch]\n"
        "  hint: write `bias: &[i32; 4]`"
    )


@pytest.mark.parametrize(
    ("file", "hint"),
    [
        ("a.rs", 'write `arch = ["sm_90", "sm_120"]`'),
        ("a.cu", 'write `arch = {"sm_90", "sm_120"}`'),
    ],
)
def test_an_argument_is_spelled_in_the_language_of_the_source(file: str, hint: str) -> None:
    bad = export(arch=("90", "SM_120"), where=Place(file, 1, 1))
    assert {problem.hint for problem in check(ExportSet("example", (bad,)))} == {hint}


@pytest.mark.parametrize(
    ("file", "spelled"),
    [
        ("a.rs", ["x: f32", "y: &f32", "z: &[f32; 2]"]),
        ("a.cu", ["float x", "const float& y", "const float (&z)[2]"]),
        ("a.cuh", ["float x", "const float& y", "const float (&z)[2]"]),
    ],
)
def test_a_parameter_is_spelled_in_the_language_of_the_source(file: str, spelled: list[str]) -> None:
    from tilewright.exports.spelling import parameter as spell

    inputs = (parameter("x"), parameter("y", by_value=False), parameter("z", footprint=2))
    assert [spell(Place(file, 1, 1), written) for written in inputs] == [f"`{text}`" for text in spelled]


def test_a_symbol_may_not_be_any_function_of_the_source() -> None:
    assert broken(export(), functions=("relu", "helper")) == []
    assert broken(export(), functions=("relu", "relu_impl")) == ["symbol-is-a-function"]
    (problem,) = check(ExportSet("example", (export(),)), functions=("relu_impl", "relu_impl_impl"))
    assert problem.hint == 'write `symbol = "relu_impl_impl_2"`'


def test_a_function_may_not_be_what_a_size_of_an_export_is_called() -> None:
    parametric = export(tile_shape=None)
    assert broken(parametric, functions=("relu_impl_N128", "relu_impl__N", "other__N128")) == []
    assert broken(export(), functions=("relu_impl__N128",)) == []
    assert broken(parametric, functions=("relu_impl__N128",)) == ["name-of-a-size"]


def test_all_violations_are_reported_at_once() -> None:
    worst = TileExport("int", "relu_impl", "relu", (parameter("a"), parameter("a")), 100, arch=("gpu",), doc="\a")
    assert sorted(broken(export(), worst, library="1")) == sorted(
        [
            "tile-shape-not-power-of-two",
            "no-output",
            "duplicate-parameter",
            "arch-malformed",
            "doc-control-character",
            "not-an-identifier",
            "keyword-name",
            "duplicate-symbol",
        ]
    )


def test_three_namesakes_are_offered_different_names() -> None:
    twins = [export(symbol=f"s{number}") for number in range(3)]
    hints = [problem.hint for problem in check(ExportSet("example", tuple(twins)))]
    assert hints == ['write `name = "relu_2"`', 'write `name = "relu_3"`']


@pytest.mark.parametrize("name", ["_", "", "1x", "größe", "a-b", "a b", "a\n", "x){}; evil(", "\x1b[31m", "a`b", "a\0"])
def test_nothing_but_an_ascii_identifier_is_a_name(name: str) -> None:
    for field in ("name", "symbol", "function"):
        assert "not-an-identifier" in broken(replace(export(parameter("x", Access.INOUT)), **{field: name}))
    assert broken(export(parameter(name, Access.INOUT))) == ["not-an-identifier"]
    assert broken(export(), library=name) == ["not-an-identifier"]


@pytest.mark.parametrize("name", ["x){}; evil(", "\x1b[31m", "a\nb", "a`b", "\u202e", "x" * 5000 + "-"])
def test_a_hostile_name_is_quoted_and_escaped_in_every_message(name: str) -> None:
    hostile = TileExport(name, name, name, (parameter(name), parameter(name, footprint=2)), 100, arch=(name,), doc=name)
    with pytest.raises(ExportError) as caught:
        ensure(ExportSet(name, (hostile,)), functions=(name,))
    text = str(caught.value)
    assert text.replace("\n", "").isprintable()
    assert "evil(" not in re.sub(r"`[^`]*`", "", text)
    assert max(map(len, text.splitlines())) < 400


@pytest.mark.parametrize("name", ["relu", "_x", "X9", "fn_", "integer", "a__b", "cuda_oxide", "raw", "N"])
def test_near_misses_are_names(name: str) -> None:
    assert broken(export(parameter(name, Access.INOUT), name=name, symbol="other", function=f"{name}1")) == []


@pytest.mark.parametrize("name", ["int", "template", "co_await", "fn", "impl", "Self", "static", "try"])
def test_keywords_are_not(name: str) -> None:
    assert broken(export(parameter(name, Access.INOUT))) == ["keyword-name"]


def test_a_renamed_function_takes_its_return_slot_along() -> None:
    document = json.loads((CASES / "keyword-name" / "good.json").read_text())
    document["exports"][0]["function"] = "new"
    document["exports"][0]["parameters"][-1]["name"] = "new_out"
    (problem,) = problems_of(json.dumps(document).encode())
    assert problem.hint == 'write `"function": "new_"`\nand call the return slot `"name": "new__out"`'
    assert parse_description(json.dumps(after(document, problem)).encode(), "repaired.json").exports


def test_of_two_return_slots_the_first_is_refused() -> None:
    slot = parameter("relu_out", Access.OUT, is_return=True)
    (problem,) = check(ExportSet("example", (export(slot, slot),)))
    assert (problem.rule, problem.hint) == ("return-slot-not-last", "keep one return slot, the last")


def test_problems_of_a_source_keep_its_position() -> None:
    where = Place("relu.cu", 7, 22)
    (problem,) = check(ExportSet("example", (export(tile_shape=100, where=where),)))
    assert problem.where == where
    (problem,) = check(ExportSet("1", (export(where=where),)))
    assert problem.where == Place("relu.cu")


def test_the_reference_has_one_row_a_rule_with_a_section_of_the_specification() -> None:
    header, ruler, *rows = rules_reference().splitlines()
    assert (header, ruler) == ("| Rule | Fault | Specification |", "| --- | --- | --- |")
    cells = [re.split(r"(?<!\\) ?\| ?", row)[1:-1] for row in rows]
    assert [name.strip("`") for name, _, _ in cells] == NAMES
    for _, fault, section in cells:
        assert fault.endswith(".")
        assert section in SECTIONS
