"""The text form: round trips, and what the parser refuses with the place of the fault."""

from __future__ import annotations

import math

import pytest

from tileir import kernels
from tilewright.problem import Place
from tilewright.tileir.builder import Builder
from tilewright.tileir.dims import IndexSpace
from tilewright.tileir.errors import TileIRError
from tilewright.tileir.graph import Module
from tilewright.tileir.index_map import Coordinate, IndexBinary, IndexConstant, IndexMap, IndexOperator, row_major
from tilewright.tileir.text.parser import parse_module, read_module
from tilewright.tileir.text.printer import print_function, print_module
from tilewright.tileir.types import F32, STATE, Element, OpaqueType, TileType
from tilewright.tileir.vocabulary import Form, Kind, Opcode, Resource, Scope

AXPB = """tileir 1
dim x.0
dim y.0
dim e
dim g

func "axpb" candidate (%0 "x": view<f32, [x.0=100]>, %1 "y": view<f32, [y.0=100]>) {
  parallel() [g=2] {
  ^(%2 "g": index):
    %3 = constant() {value = 64} : i64
    %4 = mul(%2, %3) : i64
    %5 = view.load(%0, %4) [e=64] bounds zero : tile<f32, [e=64]>
    %6 = constant() {value = 0.0} : f32
    %7 = gt(%5, %6) : tile<bool, [e=64]>
    %8 = constant() {value = 1.25} : f32
    %9 = mul(%5, %8) : tile<f32, [e=64]>
    %10 = constant() {value = 0.5} : f32
    %11 = sub(%9, %10) : tile<f32, [e=64]>
    %12 = neg(%5) : tile<f32, [e=64]>
    %13 = select(%7, %11, %12) : tile<f32, [e=64]>
    view.store(%1, %4, %13) [e=64] bounds zero
  }
}
"""


def round_trip(module: Module) -> Module:
    """The module read back; checks that it prints the same."""
    text = print_module(module)
    again = parse_module(text)
    assert print_module(again) == text
    return again


def test_axpb_as_text():
    assert print_module(kernels.axpb(100).module) == AXPB


@pytest.mark.parametrize("kernel", kernels.ALL, ids=lambda kernel: kernel.__name__)
def test_kernels_survive_the_round_trip(kernel):
    round_trip(kernel().module)


def everything() -> Module:
    """One of each field and type the text has to carry."""
    module = Module()
    build = Builder(module.function("every thing", Form.SCHEDULED))
    plain, twin, odd, size = module.dim("m"), module.dim("m"), module.dim("a b"), module.dim("size")
    module.dim("inf")
    view = build.view("x", Element.BF16, (size, 7))
    space = IndexSpace.of((plain, 4), (twin, size), (odd, 2))
    build.constant(-math.inf, TileType(Element.F32, space))
    build.constant(math.nan, F32)
    build.constant(1e-300, F32)
    build.constant(-0.0, F32)
    first = build.index(-(2**63))
    layout = IndexMap(
        IndexSpace.of((plain, 4)),
        IndexSpace.of((odd, 64)),
        (IndexBinary(IndexOperator.XOR, Coordinate(0), IndexConstant(-3)),),
    )
    build.alloc(Element.U8, IndexSpace.of((plain, 4)), resource=Resource.TENSOR, layout=layout)
    build.custom('say "hi"\n', [view, first], [OpaqueType("thing"), STATE])
    with build.parallel(IndexSpace(), Scope.SUBGROUP), build.pipeline(space, stages=3, initiation_interval=2):
        build.stage("load é")
    return module


def test_every_field_survives_the_round_trip():
    module = everything()
    (function,) = round_trip(module).functions
    assert function.name == "every thing"
    assert function.form is Form.SCHEDULED
    found = {operation.kind: operation for operation in function.walk()}
    assert found[Kind.CUSTOM].attributes == {"name": 'say "hi"\n'}
    assert [value.type for value in found[Kind.CUSTOM].results] == [OpaqueType("thing"), STATE]
    assert found[Kind.PARALLEL].scope is Scope.SUBGROUP
    assert found[Kind.PIPELINE].attributes == {"stages": 3, "initiation_interval": 2}
    assert found[Kind.ALLOC].resource is Resource.TENSOR
    assert str(found[Kind.ALLOC].layout) == "[m=4] -> [a b=64] : ((c0 ^ -3))"


def test_constants_keep_their_type_and_sign():
    values = [each.attributes["value"] for each in everything().functions[0].walk() if each.kind is Kind.CONSTANT]
    again = [
        each.attributes["value"] for each in round_trip(everything()).functions[0].walk() if each.kind is Kind.CONSTANT
    ]
    assert repr(again) == repr(values)


def test_dims_of_one_name_stay_two_dims():
    dims = round_trip(everything()).dims
    assert [dim.name for dim in dims] == ["m", "m", "a b", "size", "inf", "x.0", "x.1"]
    assert len(set(dims)) == len(dims)


def test_numbers_do_not_depend_on_the_ids_that_building_left_behind():
    module = Module()
    build = Builder(module.function("f"))
    build.function.new_value_id()
    build.constant(1.0, F32)
    assert "%0 = constant()" in print_function(build.function)


def test_a_value_of_elsewhere_can_still_be_shown():
    module = Module()
    build = Builder(module.function("f"))
    foreign = Builder(Module().function("g")).constant(1.0, F32)
    build.elementwise(Opcode.NEG, foreign)
    assert "neg(%?)" in print_function(build.function)


def test_an_operation_carries_its_line():
    module = parse_module(AXPB, "axpb.tileir")
    (nest,) = module.functions[0].body.block.operations
    assert nest.place == Place("axpb.tileir", 8, 3)


def test_places_count_columns_from_the_last_line_break():
    text = AXPB.replace("  parallel", "  ; a remark  \n\n    parallel")
    (nest,) = parse_module(text, "axpb.tileir").functions[0].body.block.operations
    assert nest.place == Place("axpb.tileir", 10, 5)


def test_comments_are_skipped():
    assert print_module(parse_module(AXPB.replace("bounds zero\n", "bounds zero ; clipped\n"))) == AXPB


def test_a_file_is_read_under_its_name(tmp_path):
    path = tmp_path / "axpb.tileir"
    path.write_text(AXPB)
    assert print_module(read_module(path)) == AXPB
    path.write_text("tileir 2\n")
    with pytest.raises(TileIRError, match=r"axpb\.tileir:1:8: .*version 2.*version 1"):
        read_module(path)


@pytest.mark.parametrize(
    ("old", "new", "rule", "line", "words"),
    [
        ("tileir 1", "tilir 1", "bad-text", 1, "expected `tileir`"),
        ("dim y.0", "dim x.0", "declared-twice", 3, "declared twice"),
        ("candidate", "candidat", "unknown-word", 7, "did you mean `candidate`"),
        ("bounds zero\n", "bounds null\n", "unknown-word", 21, "one of assume, zero"),
        ("gt(", "gtt(", "unknown-word", 14, "did you mean `gt`"),
        ("neg(%5)", "neg(%50)", "undefined-value", 19, "%50 is not defined before"),
        ("%12 = neg", "%11 = neg", "declared-twice", 19, "%11 is defined twice"),
        ("%4 = mul(%2, %3) : i64", "%4 = mul(%2, %3)", "result-count", 11, "1 results but 0 result types"),
        ("%4 = mul(%2, %3) : i64", "%4 = mul(%2, %3) : i65", "unknown-word", 11, "one of bool, i8"),
        ("[e=64] bounds zero\n", "[f=64] bounds zero\n", "undeclared-dim", 21, "write `dim f` first"),
        ("[g=2]", "[g=2.5]", "bad-text", 8, "expected an extent"),
        ("[g=2]", "[g=two", "undeclared-dim", 8, "`two`"),
        ("{value = 64}", "{value = sixty}", "bad-text", 10, "value of an attribute"),
        ("{value = 64}", "{value = 64, value = 1}", "declared-twice", 10, "given twice"),
        ("value = 64", "value = 64 $", "bad-token", 10, "'$'"),
        ('"axpb"', "axpb", "bad-text", 7, "name of the function"),
        ('"axpb"', r'"\x"', "bad-text", 7, "malformed string"),
        ("  }\n}\n", "  }\n", "bad-text", 23, "end of text"),
        ("^(%2", "(%2", "bad-text", 9, "expected `}`"),
    ],
)
def test_text_that_does_not_parse(old, new, rule, line, words):
    assert old in AXPB
    with pytest.raises(TileIRError) as caught:
        parse_module(AXPB.replace(old, new, 1), "bad.tileir")
    (problem,) = caught.value.problems
    assert (problem.rule, problem.where.file, problem.where.line) == (rule, "bad.tileir", line), problem
    assert words in str(problem)


def test_a_layout_that_does_not_parse():
    line = "%0, %1 = memory.alloc() layout [m=4] -> [m=4] : ({}) : state, state"
    text = f'tileir 1\ndim m\nfunc "f" candidate () {{{{\n{line}\n}}}}'
    with pytest.raises(TileIRError, match=r"one of \+ - \*"):
        parse_module(text.format("(c0 = 2)"))
    with pytest.raises(TileIRError, match="an index expression"):
        parse_module(text.format("d0"))


HEADER_END = AXPB.index("func")


@pytest.mark.parametrize("cut", range(HEADER_END + 1, len(AXPB) - 2, 5))
def test_a_text_cut_short_is_a_problem_with_a_place(cut):
    with pytest.raises(TileIRError) as caught:
        parse_module(AXPB[:cut])
    (problem,) = caught.value.problems
    assert problem.where is not None
    assert problem.where.line <= AXPB[:cut].count("\n") + 1


@pytest.mark.parametrize("digits", ["9" * 21, "9" * 5000])
@pytest.mark.parametrize(("old", "form"), [("[g=2]", "[g={}]"), ("value = 64", "value = {}")])
def test_numbers_of_absurd_length(digits, old, form):
    with pytest.raises(TileIRError, match=f"an integer of {len(digits)} digits"):
        parse_module(AXPB.replace(old, form.format(digits)))


def test_text_that_nests_beyond_reason():
    deep = "(" * 50000
    with pytest.raises(TileIRError, match="nested too deeply"):
        parse_module(f'tileir 1\ndim m\nfunc "f" candidate () {{ stage() layout [m=4] -> [m=4] : ({deep}')


def test_row_major_is_printed_as_it_is_evaluated():
    module = Module()
    m, n, s = (module.dim(name) for name in "mns")
    layout = row_major(IndexSpace.of((m, 4), (n, 8)), IndexSpace.of((s, 32)))
    assert str(layout) == "[m=4, n=8] -> [s=32] : (((c0 * 8) + c1))"
