"""Every unit stands in every table it belongs to, and every rule has a test that names it."""

from __future__ import annotations

import re
from pathlib import Path

from tilewright.tileir import ops
from tilewright.tileir.interpreter.arithmetic import ARITHMETIC
from tilewright.tileir.interpreter.run import STEPS
from tilewright.tileir.interpreter.vector import COMPUTE
from tilewright.tileir.types import Element
from tilewright.tileir.verifier import verify
from tilewright.tileir.vocabulary import Kind, Opcode

HERE = Path(__file__).parent
RULES = (
    *verify.MODULE_RULES,
    *verify.STRUCTURE_RULES,
    *verify.DOMINANCE_RULES,
    *verify.SHAPE_RULES,
    *verify.TYPE_RULES,
    *verify.FLOW_RULES,
    *verify.TARGET_RULES,
)


def test_every_kind_has_a_class_and_an_interpretation():
    assert set(ops.BY_KIND) == set(Kind)
    assert len(ops.OPERATIONS) == len(Kind)
    assert set(STEPS) == set(Kind)


def test_every_opcode_has_arithmetic_except_the_cast():
    assert set(Opcode) - set(ARITHMETIC) == {Opcode.CAST}


def test_every_element_is_computed_in_something():
    assert set(COMPUTE) == set(Element)


def test_every_rule_has_a_name_of_its_own_and_a_test():
    names = [rule.name for rule in RULES]
    assert len(set(names)) == len(names)
    tested = "".join(path.read_text(encoding="utf-8") for path in HERE.glob("test_rules_on_*.py"))
    assert [name for name in names if f'"{name}"' not in tested] == []


def test_every_rule_of_the_catalogue_is_covered_by_a_check():
    numbers = " ".join(rule.check.__doc__ or "" for rule in RULES)
    missing = [number for number in range(1, 26) if not re.search(rf"\bV{number}\b", numbers)]
    assert missing == []
