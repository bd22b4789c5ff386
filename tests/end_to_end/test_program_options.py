"""The files that options of a tile program name are inputs like any other, and no file is read unseen."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from end_to_end.sandbox import Sandbox
from needed_tools import needed, needs
from tilewright.callers.program.compilation import files_in
from tilewright.scons.errors import BuildScriptError
from tilewright.scons.program_options import check_options, folders_in, header_folders, named_files

SCONSTRUCT = """\
import tilewright.scons

tilewright.scons.check_variables()
env = Environment(tools=["default", tilewright.scons.generate])
program = env.TileProgram("program", "main.cu", options={options})
"""
MAIN = '#include HEADER\n#include "plain.h"\nint more();\nint main() { return VALUE + more(); }\n'


def named(options: Sequence[str], *there: str, **environ: str) -> list[str]:
    return [str(path) for path in named_files(options, environ, Path("/top"), lambda name: name in there)]


@pytest.mark.parametrize(
    "options",
    [
        ["-include", "x.h"],
        ["-include=x.h"],
        ["--pre-include=y.h,x.h"],
        ["-Xcompiler", "-include,x.h"],
        ["-Xcompiler=-include,x.h"],
        ["x.h"],
        ["/top/x.h"],
        ["--define-macro=A", "./x.h"],
    ],
)
def test_a_file_is_found_in_every_spelling(options: list[str]) -> None:
    assert named(options, "/top/x.h", "/top/./x.h") == ["/top/x.h"]


def test_libraries_are_looked_for_where_the_linker_looks() -> None:
    there = ("/top/one/libf.a", "/top/two/libf.so", "/top/three/libf.a", "/top/one/odd.lib")
    assert named(["-Lone", "-L", "two", "-lf"], *there) == ["/top/one/libf.a", "/top/two/libf.so"]
    assert named(["--library-path=one,two", "--library=f"], *there) == ["/top/one/libf.a", "/top/two/libf.so"]
    assert named(["-lf"], *there, LIBRARY_PATH="three") == ["/top/three/libf.a"]
    assert named(["-Lone", "-l:odd.lib"], *there) == ["/top/one/odd.lib"]
    assert named(["-lf"], *there) == []


def test_options_of_the_environment_count() -> None:
    assert named(["-O1"], "/top/x.h", NVCC_APPEND_FLAGS="-include x.h") == ["/top/x.h"]
    assert named(["-O1"], "/top/x y.h", NVCC_PREPEND_FLAGS="-include 'x y.h'") == ["/top/x y.h"]
    assert list(header_folders({"CPATH": "a:b", "CPLUS_INCLUDE_PATH": "c"})) == ["a", "b", "c"]
    assert list(folders_in(["-Ia,b", "-I", "c", "--include-path=d", "-isystem", "e", "-O1"])) == [
        "a",
        "b",
        "c",
        "d",
        "e",
    ]


@pytest.mark.parametrize(
    "option", ["@more", "-optf", "-optf=more", "--options-file", "-MD", "-MF=x", "-M", "--generate-dependencies"]
)
def test_options_that_hide_others_are_refused(option: str) -> None:
    with pytest.raises(BuildScriptError, match="what it reads or writes is hidden from the build"):
        check_options(["-O1", option])
    check_options(["-O1", "-maxrregcount=32", "-m64", "-march=x"])


def test_a_depfile_is_read_with_its_escapes() -> None:
    rule = b"x y : a.cu \\\n    /usr/include/b.h \\\n    c\\ d.h e\\#f.h g$$h.h\n"
    names = ["a.cu", "/usr/include/b.h", "c d.h", "e#f.h", "g$h.h"]
    assert files_in(rule) == tuple(Path.cwd() / name for name in names)


@needs("g++")
def test_what_options_name_rebuilds_and_what_nothing_names_is_refused(project: Callable[..., Sandbox]) -> None:
    import subprocess

    one = project("options", {"main.cu": MAIN, "plain.h": "", "forced.h": '#include "deep.h"\n', "seen/hidden.h": ""})
    one.write({"deep.h": '#define VALUE 0\n#define HEADER "plain.h"\n'})

    def compiled(value: int) -> bytes:
        one.write({"more.cc": f"int more() {{ return {value}; }}\n"})
        subprocess.run([needed("g++"), "-c", "more.cc"], cwd=one.folder, check=True)
        return one.read("more.o")

    assert compiled(0) != compiled(1)
    options = ["-include", "forced.h", "more.o", "-Iseen"]
    one.write({"SConstruct": SCONSTRUCT.format(options=options)})
    run = one.scons("arch=sm_90")
    assert run.rebuilt("program"), run
    assert one.scons("arch=sm_90").up_to_date()
    first = one.read("build/sm_90/program")
    compiled(2)
    assert one.scons("arch=sm_90").rebuilt("program")
    assert one.read("build/sm_90/program") != first
    one.edit("deep.h", "VALUE 0", "VALUE 3")
    assert one.scons("arch=sm_90").rebuilt("program")

    one.edit("deep.h", "plain.h", "hidden.h")
    hidden = one.scons("arch=sm_90")
    assert hidden.code == 2
    assert "main.cu: error: it read `seen/hidden.h`, of which the build knows nothing [hidden-dependency]" in hidden.err
    assert 'hint: env.Depends(program, "seen/hidden.h")' in hidden.err
    one.write({"SConstruct": SCONSTRUCT.format(options=options) + 'env.Depends(program, "seen/hidden.h")\n'})
    assert one.scons("arch=sm_90").rebuilt("program")

    one.write({"SConstruct": SCONSTRUCT.format(options=["@forced.h"])})
    refused = one.scons("arch=sm_90")
    assert refused.errors[0].startswith("SConstruct:5: error: `@forced.h` cannot be given to a tile program")
    one.write({"SConstruct": SCONSTRUCT.format(options=[])})
    refused = one.scons("arch=sm_90", NVCC_APPEND_FLAGS="-optf forced.h")
    assert refused.errors[0].startswith("SConstruct:5: error: `-optf` cannot be given to a tile program")
