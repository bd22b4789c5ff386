"""V20, V21 and V25: memory states and target models."""

from __future__ import annotations

import pytest

from tileir.broken import breaks, holds
from tilewright.tileir.target import TargetModel
from tilewright.tileir.vocabulary import Resource, Scope

ALLOC = "%20, %21 = memory.alloc() : memory<f32, [m=4, n=8]>, state\n"
STORED = ALLOC + "%22 = memory.store(%20, %21, %5) : state\n"
LOAD = "%{} = memory.load(%20, %{}) : tile<f32, [m=4, n=8]>{}\n"


@pytest.mark.parametrize(
    "line",
    [
        "%30 = memory.load(%5, %21) : tile<f32, [m=4, n=8]>",
        "%30 = memory.load(%20, %20) : tile<f32, [m=4, n=8]>",
        "%30 = memory.load(%20, %21) : tile<f32, [n=8, m=4]>",
        "%30 = memory.store(%20, %21, %6) : state",
        "%30 = memory.store(%20, %21) : state",
        "%30 = memory.store(%20, %21, %5) : f32",
    ],
)
def test_a_malformed_access(line):
    """V20."""
    breaks("malformed-memory-access", ALLOC + line + " ; fault")


def test_a_state_of_another_memory():
    """V20."""
    other = "%30, %31 = memory.alloc() : memory<f32, [m=4, n=8]>, state\n%32 = memory.store(%30, %31, %5) : state\n"
    breaks("foreign-state", STORED + other + LOAD.format(40, 32, " ; fault"))


def test_a_state_of_another_memory_through_a_carry():
    """V20: states are traced through the carries of nests."""
    other = "%30, %31 = memory.alloc() : memory<f32, [m=4, n=8]>, state\n%32 = memory.store(%30, %31, %5) : state\n"
    nest = "%33 = serial(%32) [k=3] : state {{\n^(%34: index, %35: state):\n{}yield(%35)\n}}"
    breaks("foreign-state", STORED + other + nest.format(LOAD.format(40, 35, " ; fault")))


def test_a_layout_with_a_constant_beyond_64_bits():
    """V19."""
    line = "%20, %21 = memory.alloc() layout [m=4] -> [k=4] : ((c0 + 9223372036854775808)) : memory<f32, [m=4]>, state"
    assert "does not map" in breaks("unusable-layout", line + " ; fault")


def test_a_load_before_any_store():
    """V21."""
    assert "not surely stored" in breaks("memory-flow", ALLOC + LOAD.format(30, 21, " ; fault"))
    holds(STORED + LOAD.format(30, 22, ""))


def test_a_stale_state():
    """V21: two accesses may not consume one state when one of them writes."""
    forked = "%23 = memory.store(%20, %21, %5) : state ; fault\n"
    assert "stale or forked" in breaks("memory-flow", STORED + forked)


def test_a_load_of_the_state_before_the_last_store():
    """V21."""
    again = "%23 = memory.store(%20, %22, %5) : state\n"
    assert "stale or forked" in breaks("memory-flow", STORED + again + LOAD.format(30, 22, " ; fault"))


def test_a_store_in_a_nest_that_does_not_carry_the_state():
    """V21."""
    nest = "serial() [k=3] { ; fault\n^(%30: index):\n%31 = memory.store(%20, %22, %5) : state\n}"
    assert "carry its state" in breaks("memory-flow", STORED + nest)


def test_a_store_in_a_parallel_to_a_memory_of_outside():
    """V21: instances would race."""
    nest = "parallel() [k=3] { ; fault\n^(%30: index):\n%31 = memory.store(%20, %22, %5) : state\n}"
    assert "instances may not write" in breaks("memory-flow", STORED + nest)
    holds(STORED + "parallel() [k=3] {\n^(%30: index):\n" + LOAD.format(31, 22, "") + "}")


def test_a_yield_of_a_state_that_was_written_over():
    """V21."""
    nest = (
        "%30 = serial(%22) [k=3] : state {\n^(%31: index, %32: state):\n"
        "%33 = memory.store(%20, %32, %5) : state\nyield(%32) ; fault\n}"
    )
    assert "not the reaching state" in breaks("memory-flow", STORED + nest)
    holds(STORED + nest.replace("yield(%32) ; fault", "yield(%33)") + "\n" + LOAD.format(40, 30, ""))


def test_a_nest_that_may_make_no_trip_stores_nothing_for_sure():
    """V21: after zero trips the memory still has its first, undefined state."""
    nest = (
        "%30 = serial(%21) [k={}] : state {{\n^(%31: index, %32: state):\n"
        "%33 = memory.store(%20, %32, %5) : state\nyield(%33)\n}}\n"
    )
    breaks("memory-flow", ALLOC + nest.format(0) + LOAD.format(40, 30, " ; fault"))
    holds(ALLOC + nest.format(1) + LOAD.format(40, 30, ""))


def test_a_stale_state_as_the_initial_value_of_a_carry():
    """V21."""
    nest = "%30 = serial(%21) [k=3] : state { ; fault\n^(%31: index, %32: state):\nyield(%32)\n}"
    assert "stale or forked" in breaks("memory-flow", STORED + nest)


TARGET = TargetModel(
    "toy",
    contains={
        Scope.GROUP: frozenset({Scope.WORKER}),
        Scope.WORKER: frozenset(),
        Scope.SUBGROUP: frozenset({Scope.WORKER}),
    },
    resources=frozenset({Resource.PRIVATE, Resource.SHARED}),
    loads={Scope.GROUP: frozenset({Resource.SHARED}), Scope.WORKER: frozenset(Resource)},
    stores={Scope.GROUP: frozenset({Resource.SHARED}), Scope.WORKER: frozenset({Resource.PRIVATE})},
)


def nested(*scopes, body="", fault=-1):
    """Parallels with these scopes, one in the other, around a body; the one at `fault` is marked."""
    text = body
    for place, scope in reversed(list(enumerate(scopes))):
        mark = " ; fault" if place == fault else ""
        text = f"parallel() [k=3] scope {scope} {{{mark}\n^(%{50 + place}: index):\n{text}\n}}"
    return text


def test_a_scope_the_target_does_not_know():
    """V25."""
    assert "no scope vector" in breaks("unknown-scope", nested("vector", fault=0), TARGET)
    holds(nested("vector"))


def test_a_scope_that_the_active_one_does_not_contain():
    """V25."""
    assert "no subgroup inside group" in breaks("scope-not-contained", nested("group", "subgroup", fault=1), TARGET)
    holds(nested("group", "worker"), TARGET)


def test_a_resource_the_target_does_not_have():
    """V25."""
    line = "%20, %21 = memory.alloc() resource tensor : memory<f32, [m=4]>, state ; fault"
    assert "no tensor memory" in breaks("unknown-resource", line, TARGET)


def access(scope, resource, store_fault="", load_fault=""):
    return nested(
        scope,
        body=f"%20, %21 = memory.alloc() resource {resource} : memory<f32, [m=4, n=8]>, state\n"
        f"%22 = memory.store(%20, %21, %5) : state{store_fault}\n" + LOAD.format(30, 22, load_fault),
    )


def test_a_memory_that_the_scope_may_not_store_to():
    """V25."""
    body = access("worker", "shared", store_fault=" ; fault")
    assert "does not reach shared" in breaks("unreachable-memory", body, TARGET)
    holds(access("worker", "private"), TARGET)


def test_a_memory_that_the_scope_may_not_load():
    """V25."""
    body = access("group", "private", store_fault=" ; fault", load_fault=" ; fault")
    assert "does not reach private" in breaks("unreachable-memory", body, TARGET)
    holds(access("group", "shared"), TARGET)
