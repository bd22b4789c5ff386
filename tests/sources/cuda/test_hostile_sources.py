"""Whatever a file holds, it is read or refused, in reasonable time."""

from __future__ import annotations

import re
import time
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sources.project import SPEC, exports_of, refusal, write
from tilewright.exports.model import TileExport
from tilewright.problem import Problem
from tilewright.sources.cuda.lexer import SourceText
from tilewright.sources.cuda.reader import read_cuda
from tilewright.sources.cuda.structure import structure_of
from tilewright.sources.source import SourceError

TOKENS = re.findall(r"\w+|\s+|[^\w\s]", SPEC)
ODD = ["#if 0\n", "#else\n", "#endif\n", "/*", "*/", 'R"(', "[[", "]]", "\0", "é"]


@settings(max_examples=150, deadline=None)
@given(data=st.data())
def test_whatever_is_written_gives_exports_or_a_clear_refusal(data: st.DataObject) -> None:
    pieces = list(TOKENS)
    for _ in range(data.draw(st.integers(1, 6))):
        at = data.draw(st.integers(0, len(pieces)))
        count = data.draw(st.integers(0, 4))
        pieces[at : at + count] = data.draw(st.lists(st.sampled_from(TOKENS + ODD), max_size=3))
    exports, text, problems = outcome("".join(pieces))
    assert exports or problems
    assert all(problem.what and problem.where and problem.where.line for problem in problems)
    assert text.count('extern "C" __device__ void ') == len(exports)


def outcome(text: str) -> tuple[tuple[TileExport, ...], str, tuple[Problem, ...]]:
    try:
        exports, written = read_cuda(SourceText("k.cu", text), "sample")
    except SourceError as error:
        return (), "", error.problems
    return exports.exports, written, ()


def test_a_long_file_is_read_in_reasonable_time_and_depth(tmp_path: Path) -> None:
    chain = "".join(
        f"__device__ int c{number}(int x) {{ return c{number + 1}(x) + {'(' * 50}x{')' * 50}; }}\n"
        for number in range(2000)
    )
    many = "".join(f"[[tile_export]] __device__ int e{n}(int x) {{ return c0(x); }}\n" for n in range(500))
    assert len(exports_of(tmp_path, chain + many)) == 500


def test_a_thousand_unbalanced_halves_take_no_longer_each_than_a_hundred() -> None:
    def seconds(count: int) -> float:
        halves = "".join(f"#if A{n}\nvoid f{n}() {{\n#else\nvoid g{n}() {{\n#endif\n" for n in range(count))
        source = SourceText("k.cu", halves)
        assert source.tokens
        started = time.process_time()
        assert len(structure_of(source).functions) == 2
        return time.process_time() - started

    few = min(seconds(300) for _ in range(3))
    assert seconds(3000) < 40 * few, "ten times the text takes about ten times the time, not a hundred times"


@pytest.mark.parametrize(
    "argument", ["tile_shape = " + "(" * 2000 + "1" + ")" * 2000, "tile_shape(" + "1 + " * 2000 + "1)", "(" * 2000]
)
def test_a_long_argument_is_quoted_in_part(argument: str, tmp_path: Path) -> None:
    write(tmp_path, {"k.cu": f"[[tile_export({argument})]] __device__ float f(float x) {{ return x; }}\n"})
    assert len(refusal(tmp_path)) < 500
