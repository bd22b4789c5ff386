"""An architecture list that the library at hand can never serve is refused by its export, list and architecture."""

from __future__ import annotations

import pytest

from tilewright.exports.architectures import unserved
from tilewright.exports.elements import ElementType
from tilewright.exports.model import Access, ExportSet, Parameter, TileExport
from tilewright.problem import Place

X = Parameter("x", ElementType.F32, Access.INOUT)
KNOWN = ("sm_80", "sm_90", "sm_100", "sm_120")


def library(*arch: str, file: str = "k.cu") -> ExportSet:
    export = TileExport("relu", "relu_impl", "relu", (X,), 128, arch=arch, where=Place(file, 3, 3))
    return ExportSet("tiles", (export,))


@pytest.mark.parametrize(
    ("listed", "arch"),
    [
        ((), "sm_120"),
        (("sm_120",), "sm_120"),
        (("sm_120a",), "sm_120"),
        (("sm_80", "sm_120"), "sm_120"),
        (("sm_120",), "sm_90"),
        (("sm_90",), "compute_80"),
        (("sm_100f",), "compute_100"),
    ],
)
def test_a_list_with_the_architecture_or_a_newer_one_is_served(listed: tuple[str, ...], arch: str) -> None:
    assert unserved(library(*listed), arch, known=KNOWN) == []


@pytest.mark.parametrize(("listed", "arch"), [(("sm_90",), "sm_100"), (("sm_80", "sm_90a"), "compute_120")])
def test_a_list_of_older_architectures_is_refused(listed: tuple[str, ...], arch: str) -> None:
    (problem,) = unserved(library(*listed), arch, known=KNOWN)
    assert problem.rule == "architecture-never-served"
    assert unserved(library(*listed, arch.replace("compute", "sm")), arch, known=KNOWN) == [], "what the hint says"


def test_the_message_names_the_export_its_list_and_the_architecture() -> None:
    (problem,) = unserved(library("sm_80", "sm_90"), "sm_120")
    assert str(problem) == (
        "k.cu:3:3: error: `relu` is for sm_80, sm_90, which cannot use device code made for sm_120"
        " [architecture-never-served]\n"
        '  hint: write `arch = {"sm_80", "sm_90", "sm_120"}`, leave arch out, or make the device code for sm_90'
    )
    (problem,) = unserved(library("sm_90", file="k.rs"), "sm_120")
    assert 'write `arch = ["sm_90", "sm_120"]`' in problem.hint


def test_a_name_that_the_toolkit_does_not_have_is_refused_where_the_toolkit_is_known() -> None:
    assert unserved(library("sm_999"), "sm_120") == []
    (problem,) = unserved(library("sm_90", "sm_999"), "sm_90", known=KNOWN)
    assert str(problem) == (
        "k.cu:3:3: error: `relu`: the toolkit has no architecture `sm_999` [unknown-architecture]\n"
        "  hint: did you mean `sm_90`?\n"
        "        choose from: sm_80, sm_90, sm_100, sm_120"
    )
    (problem,) = unserved(library("sm_12"), "sm_90", known=KNOWN)
    assert problem.hint.startswith("did you mean `sm_120`?")
