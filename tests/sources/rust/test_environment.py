"""What a Rust source takes from the environment at compile time: nothing, as no signature would hold it."""

from __future__ import annotations

from pathlib import Path

import pytest

from sources.project import write
from sources.rust.project import RELU, environment, read, refusal

GIVEN = {"GREETING": "1"}


def test_a_variable_that_a_source_asks_for_is_not_there(tmp_path: Path) -> None:
    folder = write(tmp_path, {"k.rs": f'{RELU}\nconst _: &str = env!("GREETING");\n'})
    assert "environment variable `GREETING` not defined at compile time" in refusal(
        folder, environ=environment(**GIVEN)
    )


@pytest.mark.parametrize("variables", [{}, GIVEN])
def test_the_device_code_is_the_same_whatever_the_environment(tmp_path: Path, variables: dict[str, str]) -> None:
    body = 'if option_env!("GREETING").is_some() { 2.0 } else { x }'
    folder = write(tmp_path, {"k.rs": RELU.replace("x.max(0.0)", body)})
    assert body in (folder / "k.rs").read_text()
    assert "2.000000e+00" not in read(folder, environ=environment(**variables)).device_text
