"""What a user sees of a problem, whatever the problem quotes."""

from __future__ import annotations

import pickle

import pytest

from tilewright.problem import Place, Problem, ProblemError, render


@pytest.mark.parametrize(
    ("place", "shown"),
    [
        (Place("relu.cu"), "relu.cu"),
        (Place("relu.cu", 7), "relu.cu:7"),
        (Place("relu.cu", 7, 22), "relu.cu:7:22"),
        (Place("a.json", path="$.x"), "a.json:$.x"),
    ],
)
def test_a_place_is_spelled_as_editors_open_it(place: Place, shown: str) -> None:
    assert str(place) == shown


def test_a_problem_has_its_place_rule_detail_and_hint_in_that_order() -> None:
    problem = Problem("no output", Place("k.cu", 3), "write one\nor two", "no-output", "tool:\n\n  said this")
    assert str(problem) == (
        "k.cu:3: error: no output [no-output]\n    tool:\n\n      said this\n  hint: write one\n        or two"
    )


@pytest.mark.parametrize("hostile", ["\x1b[2J", "\x07", "\x9b2J", "\u202e", "\r", "\udcff"])
@pytest.mark.parametrize("field", ["what", "hint", "detail", "file"])
def test_nothing_that_is_quoted_reaches_the_terminal_as_a_command(hostile: str, field: str) -> None:
    quoted = f"<{hostile}>"
    place = Place(quoted if field == "file" else "k.cu")
    texts = {"what": "w", field: quoted} if field != "file" else {"what": "w"}
    shown = render([Problem(where=place, **texts)])
    assert hostile not in shown
    if hostile != "\r" or field not in ("hint", "detail"):  # there it ends a line
        assert f"<\\u{{{ord(hostile[0]):x}}}" in shown


def test_problems_are_shown_once_in_the_order_of_their_places() -> None:
    late, early, nowhere = Problem("late", Place("a", 9)), Problem("early", Place("a", 2)), Problem("nowhere")
    assert render([late, early, nowhere, late]) == "error: nowhere\na:2: error: early\na:9: error: late"


def test_an_error_crosses_processes_with_its_problems() -> None:
    error = ProblemError([Problem("a", Place("k.cu", 1), "b", "c", "d")])
    again = pickle.loads(pickle.dumps(error))
    assert (again.problems, str(again)) == (error.problems, str(error))
