"""One negative test a rule on operations, with its near miss where there is one. Text cases; see broken.py."""

from __future__ import annotations

import pytest

from tileir.broken import breaks, holds

T = "tile<f32, [m=4, n=8]>"


def test_a_nest_without_a_region():
    """V7."""
    assert "domain and exactly one region" in breaks("malformed-nest", "parallel() [m=4] ; fault")


def test_a_nest_without_a_domain():
    """V7."""
    assert "domain and exactly one region" in breaks("malformed-nest", "parallel() { ; fault\n^():\n}")


def test_a_nest_with_two_blocks():
    """V7: a region may have several blocks, no lowering has a use for them."""
    breaks("malformed-nest", "parallel() [m=4] { ; fault\n^(%20: index):\n^(%21: index):\n}")


def test_a_nest_whose_arguments_are_not_its_coordinates():
    """V7."""
    words = breaks("malformed-nest", "parallel() [m=4, n=8] { ; fault\n^(%20: index, %21: i64):\n}")
    assert "index, i64" in words
    assert "index, index" in words
    holds("parallel() [m=4, n=8] {\n^(%20: index, %21: index):\n}")


def test_a_carry_that_changes_its_type():
    """V7."""
    body = "%20 = serial(%3) [m=4] : f64 { ; fault\n^(%21: index, %22: f32):\nyield(%22)\n}"
    assert "results are f64, carried are f32" in breaks("malformed-nest", body)


def test_a_parallel_that_carries():
    """V8."""
    body = "%20 = parallel(%3) [m=4] : f32 { ; fault\n^(%21: index):\n}"
    assert "carry nothing" in breaks("parallel-with-values", body)


def test_more_initial_values_than_results():
    """V9."""
    body = "serial(%3) [m=4] { ; fault\n^(%21: index, %22: f32):\n}"
    assert "1 initial values but 0 results" in breaks("carry-count", body)


@pytest.mark.parametrize("line", ["%20 = constant(%2) {value = 1} : i64", "constant() {value = 1}"])
def test_a_constant_with_operands_or_without_results(line):
    """V10."""
    breaks("malformed-constant", line + " ; fault")


def test_a_constant_that_is_no_scalar_or_tile():
    """V10."""
    breaks("malformed-constant", "%20 = constant() {value = 1} : index ; fault")


@pytest.mark.parametrize(
    ("value", "type"),
    [("1", "f32"), ("1.0", "i32"), ("true", "i32"), ("1", "bool"), ("300", "u8"), ("-1", "u32"), ('"1"', "f32")],
)
def test_a_constant_whose_value_is_not_of_its_element(value, type):
    """V10."""
    assert f"is no {type}" in breaks("constant-without-value", f"%20 = constant() {{value = {value}}} : {type} ; fault")


def test_a_constant_without_a_value():
    """V10."""
    breaks("constant-without-value", "%20 = constant() : f32 ; fault")
    holds("%20, %21 = constant() {value = 255} : u8, tile<i64, []>")


@pytest.mark.parametrize("line", [f"%20 = add(%5) : {T}", f"%20 = neg(%5, %5) : {T}", f"%20, %21 = neg(%5) : {T}, {T}"])
def test_an_elementwise_operation_of_another_arity(line):
    """V11."""
    assert "gives one result" in breaks("malformed-elementwise", line + " ; fault")


def test_an_elementwise_operation_on_a_view():
    """V11."""
    assert "scalars and tiles" in breaks("malformed-elementwise", f"%20 = neg(%0) : {T} ; fault")


@pytest.mark.parametrize("field", ["[m=4]", "bounds zero", "{\n^():\n}"])
def test_an_elementwise_operation_with_a_field_of_others(field):
    """V11: no domain, no region, no bounds mode."""
    before, after = (field, "") if not field.startswith("{") else ("", " " + field)
    line = f"%20 = neg(%5) {before} : {T}{after}"
    head, _, tail = line.partition("\n")
    breaks("misplaced-field", f"{head} ; fault\n{tail}")


def test_a_tile_access_without_a_bounds_mode():
    """V18."""
    words = breaks("misplaced-field", f"%20 = view.load(%0, %2, %2) [m=4, n=8] : {T} ; fault")
    assert "assume or zero" in words


def test_a_cast_between_scalar_and_tile():
    """V12."""
    breaks("cast-changes-shape", f"%20 = cast(%2) : {T} ; fault")
    breaks("cast-changes-shape", "%20 = cast(%5) : tile<f32, [n=8, m=4]> ; fault")
    holds("%20 = cast(%5) : tile<i32, [m=4, n=8]>\n%21 = cast(%2) : f32")


def test_a_select_whose_condition_is_no_bool():
    """V12."""
    assert "condition is i32" in breaks("select-mismatch", f"%20 = select(%6, %5, %5) : {T} ; fault")


def test_a_select_between_elements_that_differ():
    """V12."""
    breaks("select-mismatch", f"%20 = select(%7, %5, %6) : {T} ; fault")
    holds(f"%20 = select(%4, %5, %3) : {T}")


def test_logic_on_numbers():
    """V12."""
    breaks("logic-on-other-than-bool", "%20 = and(%6, %6) : tile<bool, [m=4, n=8]> ; fault")
    holds("%20 = and(%7, %4) : tile<bool, [m=4, n=8]>")


def test_a_comparison_of_elements_that_differ():
    """V12."""
    assert "compares f32 with i32" in breaks("comparison-mismatch", "%20 = lt(%5, %6) : tile<bool, [m=4, n=8]> ; fault")


def test_a_comparison_that_gives_a_number():
    """V12."""
    breaks("comparison-mismatch", f"%20 = lt(%5, %5) : {T} ; fault")
    holds("%20 = lt(%5, %3) : tile<bool, [m=4, n=8]>")


def test_arithmetic_on_elements_that_differ():
    """V12."""
    assert "mixes f32, i32, f32" in breaks("arithmetic-mismatch", f"%20 = add(%5, %6) : {T} ; fault")
    holds(f"%20 = add(%5, %3) : {T}")


def test_arithmetic_on_bools():
    """V12."""
    breaks("arithmetic-on-bool", "%20 = add(%7, %7) : tile<bool, [m=4, n=8]> ; fault")


@pytest.mark.parametrize("opcode", ["exp", "log", "sqrt", "tanh"])
def test_a_float_function_of_an_integer(opcode):
    """V12."""
    breaks("not-a-float", f"%20 = {opcode}(%6) : tile<i32, [m=4, n=8]> ; fault")
    holds(f"%20 = {opcode}(%5) : {T}")


def test_a_remainder_of_floats():
    """V12."""
    breaks("not-an-integer", f"%20 = mod(%5, %5) : {T} ; fault")
    holds("%20 = mod(%6, %6) : tile<i32, [m=4, n=8]>")


@pytest.mark.parametrize(
    "line",
    [
        f"%20 = add(%5, %8) : {T}",
        "%20 = neg(%5) : tile<f32, [m=4, n=9]>",
        "%20 = neg(%5) : f32",
        "%20 = neg(%5) : tile<f32, [m=1, n=8]>",
    ],
    ids=["missing-dim", "other-extent", "to-scalar", "to-singleton"],
)
def test_a_broadcast_that_does_not_hold(line):
    """V13."""
    assert "does not broadcast" in breaks("not-broadcastable", line + " ; fault")


def test_broadcasts_that_hold():
    """V13: missing dims, singletons, permuted dims, scalars."""
    holds(
        "%20 = constant() {value = 1.0} : tile<f32, [n=1]>\n%21 = add(%9, %20) : tile<f32, [n=6, k=4, m=4]>\n"
        "%22 = add(%21, %3) : tile<f32, [m=4, n=6, k=4]>"
    )


def test_an_extract_from_something_that_is_no_tile():
    """V14."""
    breaks("malformed-extract", "%20 = tile.extract(%3, %2) : f32 ; fault")


def test_an_extract_with_too_few_indices():
    """V14."""
    assert "needs 2 indices" in breaks("malformed-extract", "%20 = tile.extract(%5, %2) : f32 ; fault")


def test_an_extract_with_a_float_index():
    """V14."""
    breaks("extract-mismatch", "%20 = tile.extract(%5, %2, %3) : f32 ; fault")


def test_an_extract_of_another_element():
    """V14."""
    breaks("extract-mismatch", "%20 = tile.extract(%5, %2, %2) : f64 ; fault")
    holds("%20 = tile.extract(%5, %2, %2) : f32")


@pytest.mark.parametrize(
    "text",
    [
        "%20 = tile.map() : tile<f32, [m=4]> { ; fault\n^():\nyield(%3)\n}",
        "%20 = tile.map() [m=4] : tile<f32, [m=4]> ; fault",
        "%20 = tile.map(%3) [m=4] : tile<f32, [m=4]> { ; fault\n^(%21: index):\nyield(%3)\n}",
        "%20 = tile.map() [m=4] : tile<f32, [m=5]> { ; fault\n^(%21: index):\nyield(%3)\n}",
        "%20 = tile.map() [m=4] : tile<f32, [m=4]> { ; fault\n^(%21: i64):\nyield(%3)\n}",
        "%20 = tile.map() [m=4] : tile<f32, [m=4]> { ; fault\n^(%21: index):\n%22 = neg(%3) : f32\n}",
        "%20 = tile.map() [m=4] : tile<f32, [m=4]> { ; fault\n^(%21: index):\n}",
    ],
    ids=["no-domain", "no-region", "operand", "other-space", "not-an-index", "no-yield", "empty"],
)
def test_a_malformed_map(text):
    """V15."""
    breaks("malformed-map", text)


@pytest.mark.parametrize(
    "effect",
    [
        "%22 = view.load_element(%0, %2, %2) : f32",
        "view.store_element(%0, %2, %2, %3)",
        "%22, %23 = memory.alloc() : memory<f32, [m=4]>, state",
        'custom() {name = "anything"}',
        "parallel() [n=8] {{ ; fault\n^(%22: index):\n}}",
    ],
)
def test_an_effect_inside_a_map(effect):
    """V16."""
    marked = effect.replace("{{", "{").replace("}}", "}") if "fault" in effect else effect + " ; fault"
    body = f"%20 = tile.map() [m=4] : tile<f32, [m=4]> {{\n^(%21: index):\n{marked}\nyield(%3)\n}}"
    assert "memory effect inside a tile.map" in breaks("effect-in-map", body)


def test_an_effect_deep_inside_a_map():
    """V16: in a nest of the generator as well."""
    breaks(
        "effect-in-map",
        "%20 = tile.map() [m=4] : tile<f32, [m=4]> {\n^(%21: index):\nserial() [n=8] {\n^(%22: index):\n"
        "view.store_element(%0, %2, %2, %3) ; fault\n}\nyield(%3)\n}",
    )


def test_an_mma_of_something_else_than_three_tiles():
    """V17."""
    breaks("malformed-mma", "%20 = mma(%5, %8) {allow_reassociation = true} : tile<f32, [m=4, k=4]> ; fault")
    breaks("malformed-mma", "%20 = mma(%5, %8, %3) {allow_reassociation = true} : f32 ; fault")


def test_an_mma_that_does_not_give_the_type_of_c():
    """V17."""
    words = breaks(
        "malformed-mma", "%20 = mma(%5, %8, %9) {allow_reassociation = true} : tile<f32, [k=4, m=4]> ; fault"
    )
    assert "[m=4, k=4]" in words


@pytest.mark.parametrize(
    ("a", "b", "c"),
    [
        ("[m=4, n=8]", "[k=8]", "[m=4, k=8]"),
        ("[m=4, n=8]", "[n=7, k=4]", "[m=4, k=4]"),
        ("[m=4, n=8]", "[n=8, k=4]", "[m=5, k=4]"),
        ("[m=4]", "[k=4]", "[m=4, k=4]"),
        ("[m=4, n=8]", "[n=8]", "[m=4, k=4]"),
    ],
    ids=["dim-of-a-alone", "contracted-extent", "kept-extent", "nothing-contracted", "dim-of-c-alone"],
)
def test_an_mma_that_contracts_nothing_or_not_everything(a, b, c):
    """V17."""
    body = "\n".join(
        f"%{number} = constant() {{value = 1.0}} : tile<f32, {space}>" for number, space in enumerate((a, b, c), 20)
    )
    line = f"%23 = mma(%20, %21, %22) {{allow_reassociation = true}} : tile<f32, {c}> ; fault"
    assert "valid contraction" in breaks("no-contraction", f"{body}\n{line}")


def test_an_mma_of_elements_that_differ():
    """V17."""
    body = "%20 = constant() {value = 1} : tile<i32, [n=8, k=4]>\n"
    breaks("mma-mismatch", body + "%21 = mma(%5, %20, %9) {allow_reassociation = true} : tile<f32, [m=4, k=4]> ; fault")
    holds("%21 = mma(%5, %8, %9) {allow_reassociation = false} : tile<f32, [m=4, k=4]>")


def test_an_access_to_something_that_is_no_view():
    """V18."""
    breaks("malformed-view-access", "%20 = view.load_element(%5, %2, %2) : f32 ; fault")


@pytest.mark.parametrize(
    "line",
    [
        "%20 = view.load_element(%0, %2) : f32",
        "view.store_element(%0, %2, %2)",
        f"%20 = view.load(%0, %2) [m=4, n=8] bounds zero : {T}",
        f"%20 = view.load(%0, %2, %2, %3, %3) [m=4, n=8] bounds zero : {T}",
        "view.store(%0, %2, %2, %5, %5) [m=4, n=8] bounds zero",
        f"%20 = view.load(%0, %2, %2) [m=4] bounds zero : {T}",
        f"%20 = view.load(%0, %2, %2) bounds zero : {T}",
        "view.load(%0, %2, %2) [m=4, n=8] bounds zero",
        "%20 = view.store(%0, %2, %2, %5) [m=4, n=8] bounds zero : state",
    ],
)
def test_an_access_with_operands_or_results_it_does_not_take(line):
    """V18."""
    breaks("malformed-view-access", line + " ; fault")


def test_a_predicate_alone():
    """V18, B16."""
    breaks("predicate-without-fallback", "%20 = view.load_element(%0, %2, %2, %4) : f32 ; fault")
    holds("%20 = view.load_element(%0, %2, %2, %4, %3) : f32")


def test_a_float_index():
    """V18."""
    breaks("index-not-an-integer", "%20 = view.load_element(%0, %2, %3) : f32 ; fault")


@pytest.mark.parametrize(
    "line",
    [
        "%20 = view.load_element(%0, %2, %2) : f64",
        "%20 = view.load(%0, %2, %2) [m=4, n=8] bounds zero : tile<f64, [m=4, n=8]>",
        "%20 = view.load(%0, %2, %2) [m=4, n=8] bounds zero : tile<f32, [n=8, m=4]>",
        "view.store(%0, %2, %2, %6) [m=4, n=8] bounds zero",
        "view.store(%0, %2, %2, %5) [m=4, n=4] bounds zero",
        "view.store_element(%0, %2, %2, %2)",
    ],
)
def test_an_access_of_another_type(line):
    """V18."""
    breaks("access-mismatch", line + " ; fault")


def test_a_guard_of_another_type():
    """V18."""
    breaks("guard-mismatch", "%20 = view.load_element(%0, %2, %2, %2, %3) : f32 ; fault")
    breaks("guard-mismatch", "%20 = view.load_element(%0, %2, %2, %4, %2) : f32 ; fault")
    breaks("guard-mismatch", f"%20 = view.load(%0, %2, %2, %2) [m=4, n=8] bounds zero : {T} ; fault")
    holds(f"%20 = view.load(%0, %2, %2, %3) [m=4, n=8] bounds zero : {T}")


def test_an_allocation_without_its_state():
    """V19."""
    breaks("malformed-alloc", "%20 = memory.alloc() : memory<f32, [m=4]> ; fault")


@pytest.mark.parametrize(
    ("layout", "word"),
    [
        ("[n=4] -> [k=4] : (c0)", "does not map"),
        ("[m=4] -> [k=4] : (c1)", "does not map"),
        ("[m=4] -> [k=4] : (c0, c0)", "does not map"),
        ("[m=4] -> [k=4] : ((8 // c0))", "not total"),
        ("[m=4] -> [k=4] : ((1 << (c0 - 1)))", "not total"),
        ("[m=4] -> [k=4] : ((c0 + 1))", "not in bounds"),
        ("[m=4] -> [k=4] : ((c0 // 2))", "not injective"),
    ],
)
def test_a_layout_that_loses_elements(layout, word):
    """V19."""
    line = f"%20, %21 = memory.alloc() layout {layout} : memory<f32, [m=4]>, state ; fault"
    assert word in breaks("unusable-layout", line)


def test_a_layout_with_padding_is_usable():
    """V19: storage may have holes, and a domain too large to enumerate is taken on trust."""
    holds("%20, %21 = memory.alloc() layout [m=4] -> [k=16] : (((c0 * 4) ^ 1)) : memory<f32, [m=4]>, state")
    holds("%20, %21 = memory.alloc() layout [m=9999999] -> [k=4] : (c0) : memory<f32, [m=9999999]>, state")


def test_a_yield_with_results():
    """V22."""
    body = "serial() [m=4] {\n^(%20: index):\n%21 = yield() : f32 ; fault\n}"
    assert "has results" in breaks("misplaced-yield", body)


def test_a_yield_at_the_root():
    """V22."""
    assert "outside every nest" in breaks("misplaced-yield", "yield() ; fault")


def test_a_yield_in_the_middle_of_a_block():
    """V22."""
    body = "serial() [m=4] {\n^(%20: index):\nyield() ; fault\n%21 = neg(%3) : f32\n}"
    assert "not the last" in breaks("misplaced-yield", body)


def test_a_carry_without_a_yield():
    """V22."""
    body = "%20 = serial(%3) [m=4] : f32 { ; fault\n^(%21: index, %22: f32):\n}"
    assert "does not end in a yield" in breaks("missing-yield", body)


@pytest.mark.parametrize("yielded", ["", "%2", "%3, %3"])
def test_a_yield_of_other_types(yielded):
    """V22."""
    body = f"%20 = serial(%3) [m=4] : f32 {{\n^(%21: index, %22: f32):\nyield({yielded}) ; fault\n}}"
    assert "`serial` needs f32" in breaks("yield-mismatch", body)


def test_a_map_that_yields_a_tile():
    """V22: a map yields one scalar of its element."""
    body = "%20 = tile.map() [m=4] : tile<f32, [m=4]> {\n^(%21: index):\nyield(%5) ; fault\n}"
    assert "`tile.map` needs f32" in breaks("yield-mismatch", body)


def test_a_stage_outside_of_a_pipeline():
    """V23."""
    body = 'serial() [m=4] {\n^(%20: index):\nstage() {name = "load"} ; fault\n}'
    assert "outside the body of a pipeline" in breaks("malformed-stage", body)


def test_a_stage_with_operands():
    """V23."""
    head = "pipeline() [m=4] {stages = 2, initiation_interval = 1} {\n^(%20: index):\n"
    breaks("malformed-stage", head + 'stage(%3) {name = "load"} ; fault\n}')
    holds(head + 'stage() {name = "load"}\n}')


@pytest.mark.parametrize(
    "line",
    [
        "%20 = mma(%5, %8, %9) : tile<f32, [m=4, k=4]>",
        "%20 = mma(%5, %8, %9) {allow_reassociation = 1} : tile<f32, [m=4, k=4]>",
        "pipeline() [m=4] {stages = 2} {",
        "pipeline() [m=4] {stages = true, initiation_interval = 1} {",
        "pipeline() [m=4] {stages = -1, initiation_interval = 1} {",
        "pipeline() [m=4] {stages = 0, initiation_interval = 0} {",
    ],
)
def test_an_operation_without_the_attributes_that_define_it(line):
    """A.3, A.4: policies of pipelines and contractions."""
    breaks("missing-attribute", line + " ; fault" + ("\n^(%20: index):\n}" if line.endswith("{") else ""))


@pytest.mark.parametrize(
    "line",
    [
        "%20 = neg(%3) scope group : f32",
        "%20 = neg(%3) resource shared : f32",
        "%20 = neg(%3) layout [] -> [] : () : f32",
    ],
)
def test_a_constraint_on_an_operation_that_takes_none(line):
    """V24."""
    breaks("misplaced-constraint", line + " ; fault")


def test_a_custom_operation_without_a_name():
    """V24."""
    breaks("unnamed-custom", "custom() ; fault")
    breaks("unnamed-custom", 'custom() {name = ""} ; fault')
    holds('%20 = custom(%3) {name = "fancy"} : opaque<"thing">')


def test_scopes_that_do_not_get_narrower():
    """A.4."""
    inner = "parallel() [n=8] scope group {{ ; fault\n^(%21: index):\n}}"
    body = "parallel() [m=4] scope {outer} {{\n^(%20: index):\n" + inner + "\n}}"
    assert "containment order" in breaks("scope-out-of-order", body.format(outer="group"))
    assert "containment order" in breaks("scope-out-of-order", body.format(outer="worker"))
    holds(body.format(outer="device").replace(" ; fault", ""))
