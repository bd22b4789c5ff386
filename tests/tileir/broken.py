"""Broken functions as text: the line that breaks a rule ends in `; fault`."""

from __future__ import annotations

from tilewright.problem import Problem
from tilewright.tileir.graph import Module
from tilewright.tileir.target import TargetModel
from tilewright.tileir.text.parser import parse_module
from tilewright.tileir.verifier.verify import verify_module

HEAD = """tileir 1
dim m
dim n
dim k
func "f" candidate (%0 "x": view<f32, [m=4, n=8]>, %1 "y": view<i32, [k=4]>) {
  %2 = constant() {value = 0} : i64
  %3 = constant() {value = 1.0} : f32
  %4 = constant() {value = true} : bool
  %5 = constant() {value = 1.0} : tile<f32, [m=4, n=8]>
  %6 = constant() {value = 1} : tile<i32, [m=4, n=8]>
  %7 = constant() {value = true} : tile<bool, [m=4, n=8]>
  %8 = constant() {value = 1.0} : tile<f32, [n=8, k=4]>
  %9 = constant() {value = 1.0} : tile<f32, [m=4, k=4]>
"""


def function(body: str) -> Module:
    """A module with one function: two views, constants %2 to %9, then the body."""
    return parse_module(f"{HEAD}{body}\n}}\n", "broken.tileir")


def breaks(rule: str, body: str, target: TargetModel | None = None) -> str:
    """Checks that the body breaks that rule alone, at the marked line, and gives the words of the problem."""
    module = function(body)
    problems = verify_module(module, target)
    assert {problem.rule for problem in problems} == {rule}, problems
    lines = f"{HEAD}{body}".splitlines()
    for problem in problems:
        assert problem.where is not None, problem
        assert lines[problem.where.line - 1].endswith("; fault"), problem
    return words(problems)


def words(problems: list[Problem]) -> str:
    return " / ".join(f"{problem.what} {problem.hint}" for problem in problems)


def holds(body: str, target: TargetModel | None = None) -> None:
    """The near miss: the body breaks no rule."""
    assert verify_module(function(body), target) == []
