"""The table of backends: what is refused, and with which words."""

from __future__ import annotations

from typing import Any

import pytest

from tilewright.lowering.errors import LoweringError
from tilewright.problem import ProblemError
from tilewright.shaders.backends import BACKENDS, Backend, backends_named, check_options, make_cuda, options_for
from tilewright.shaders.errors import KernelFileError

TEXT = "tileir 1\n"


def test_a_backend_that_is_not_there_is_refused_with_the_list() -> None:
    with pytest.raises(KernelFileError) as caught:
        backends_named(["cuda", "vulkan"])
    assert "the backend `vulkan` is not in this build" in str(caught.value)
    assert f"the backends are: {', '.join(row.name for row in BACKENDS)}" in str(caught.value)
    assert [row.name for row in backends_named("cuda")] == ["cuda"]
    for wrong in ([], 3):
        with pytest.raises(KernelFileError, match="the backends are"):
            backends_named(wrong)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"fast_mth": True}, ("no option `fast_mth`", "did you mean `fast_math`?")),
        ({"fast_math": "yes"}, ("`fast_math` is 'yes', a str",)),
        ({"threads_per_group": True}, ("`threads_per_group` is True, a bool",)),
        ({"xir": [1]}, ("`xir` is [1], a list",)),
        ("fast_math", ("are a mapping",)),
        ({"metal": True}, ("are a mapping",)),
        ({"metal": {"metal_mp": True}}, ("no option `metal_mp`", "did you mean `metal_mpp`?")),
        ({"metal": {"metal": {}}}, ("no option `metal`",)),
        ({"vulkan": {}}, ("no option `vulkan`",)),
    ],
)
def test_options_that_no_compilation_has_are_refused(options: Any, words: tuple[str, ...]) -> None:
    with pytest.raises(KernelFileError) as caught:
        check_options(options)
    assert all(word in str(caught.value) for word in words), caught.value


def test_options_under_a_backend_are_its_own_and_win_over_the_common_ones() -> None:
    options = check_options({"metal": {"metal_mpp": True, "fast_math": False}, "fast_math": True})
    assert options_for(options, "metal") == {"fast_math": False, "metal_mpp": True}
    assert options_for(options, "cuda") == {"fast_math": True}


@pytest.mark.parametrize("row", BACKENDS, ids=[row.name for row in BACKENDS])
def test_the_tirx_route_is_refused_by_every_backend_and_none_stands_in_for_it(row: Backend) -> None:
    """B20, B21, B130."""
    text = 'tileir 1\n\nfunc "f" candidate () {\n}\n'
    with pytest.raises(LoweringError, match="TIRx") as caught:
        row.make(text, "x.tileir", check_options({"lowering": "tirx"}), "sm_90", "")
    assert 'hint: lowering="native"' in str(caught.value)


def test_a_text_without_a_kernel_is_refused() -> None:
    with pytest.raises(ProblemError, match="holds 0 functions"):
        make_cuda(TEXT, "x.tileir", {}, "sm_90", "")


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"lowering": "tirx"}, "without the optional TIRx bridge"),
        ({"tirx": "auto"}, "Invalid lowering choice"),
        ({"xir": "auto"}, "CPU XIR planner"),
        ({"program_order": True}, "program-order"),
        ({"planner_threads": 64}, "pass threads_per_group through compile options"),
        ({"threads_per_group": 33}, "33"),
    ],
)
def test_options_of_other_routes_are_refused_by_the_lowering(options: dict[str, Any], words: str) -> None:
    """B20 and B130, B22, B23, B134, B135, B136."""
    text = 'tileir 1\n\nfunc "f" candidate () {\n}\n'
    with pytest.raises(LoweringError, match=words):
        make_cuda(text, "x.tileir", check_options(options), "sm_90", "")
