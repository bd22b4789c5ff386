"""The user's headers: found, renamed, put in memory, and the same bytes in every folder."""

from __future__ import annotations

import os
import shutil
import time
from pathlib import Path

import pytest

from sources.project import RELU, TILE, ltoir, read, refusal, unit, write
from tilewright.device.module import DeviceError
from tilewright.device.workers import Workers
from tilewright.sources.cuda.header_search import scan
from tilewright.sources.cuda.includes import translation_unit
from tilewright.sources.source import SourceError
from tilewright.toolchain.toolkit import Toolkit

USES = f"{TILE}__device__ float f(float x) {{ return one::k(x) + two::k(x); }}\n"


def header(namespace: str, factor: int, head: str = "#pragma once\n") -> str:
    return f"{head}namespace {namespace} {{ __device__ float k(float x) {{ return x * {factor}; }} }}\n"


NESTED = {
    "lib/f.cu": f'#include "one/all.cuh"\n#include <two/all.cuh>\n{USES}',
    "lib/one/all.cuh": '#pragma once\n#include "k.cuh"\n',
    "lib/one/k.cuh": header("one", 2),
    "include/two/all.cuh": '#include "k.cuh"\n#include "../two/k.cuh"\n',
    "include/two/k.cuh": header("two", 3),
    "include/k.cuh": "#error the wrong one\n",
    "k.cuh": "#error the wrong one\n",
}


def test_nested_headers_with_equal_names_are_told_apart(tmp_path: Path, toolkit: Toolkit, workers: Workers) -> None:
    module, _ = unit(write(tmp_path, NESTED), "lib/f.cu", "include")
    assert [name for name, _ in module.headers] == [
        "/tw/lib/one/all.cuh",
        "/tw/include/two/all.cuh",
        "/tw/lib/one/k.cuh",
        "/tw/include/two/k.cuh",
    ]
    assert '#include "/tw/lib/one/all.cuh"\n#include "/tw/include/two/all.cuh"\n' in module.text
    texts = dict(module.headers)
    assert texts["/tw/lib/one/all.cuh"] == '#line 1 "lib/one/all.cuh"\n#pragma once\n#include "/tw/lib/one/k.cuh"\n'
    assert texts["/tw/include/two/all.cuh"].count('#include "/tw/include/two/k.cuh"') == 2
    assert ltoir(tmp_path, toolkit, workers, "lib/f.cu", "include")


def test_the_bytes_are_the_same_in_every_folder(
    tmp_path: Path, toolkit: Toolkit, workers: Workers, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = set()
    for place in ("here", "there/deeper and wider"):
        outside = tmp_path / place / "outside"
        project = write(tmp_path / place / "project", NESTED)
        outside.mkdir(parents=True)
        shutil.move(project / "include", outside / "include")
        monkeypatch.chdir(project)
        module, _ = unit(project, "lib/f.cu", "../outside/include")
        assert str(tmp_path) not in repr(module)
        assert "/tw/_outside/0/two/k.cuh" in dict(module.headers)
        made.add((module, ltoir(project, toolkit, workers, "lib/f.cu", "../outside/include")))
    assert len(made) == 1


def test_a_root_given_as_a_relative_path_changes_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    whole, _ = unit(write(tmp_path, NESTED), "lib/f.cu", "include")
    monkeypatch.chdir(tmp_path)
    source = read(Path(), "lib/f.cu", "include")
    relative = translation_unit(source.device_text, origin="lib/f.cu", root=Path(), include_path=[Path("include")])
    assert relative == whole


@pytest.mark.parametrize("guard", ["#pragma once\n", "#ifndef A\n#define A\n"])
def test_headers_that_include_each_other_work_with_a_guard(
    guard: str, tmp_path: Path, toolkit: Toolkit, workers: Workers
) -> None:
    end = "#endif\n" if "ifndef" in guard else ""
    files = {
        "f.cu": f'#include "one.cuh"\n#include "two.cuh"\n#include "one.cuh"\n{USES}',
        "one.cuh": f'{guard}#include "two.cuh"\n{header("one", 2, "")}{end}',
        "two.cuh": f'{guard.replace("A", "B")}#include "one.cuh"\n{header("two", 3, "")}{end}',
    }
    assert ltoir(write(tmp_path, files), toolkit, workers, "f.cu")


def test_an_error_in_a_header_stands_at_the_users_header(tmp_path: Path, toolkit: Toolkit, workers: Workers) -> None:
    files = {
        "lib/f.cu": f'#include "sub/k.cuh"\n{RELU}',
        "lib/sub/k.cuh": "#pragma once\n\n__device__ int f() { return y; }\n",
    }
    with pytest.raises(DeviceError) as caught:
        ltoir(write(tmp_path, files), toolkit, workers, "lib/f.cu")
    assert str(caught.value).startswith('lib/sub/k.cuh:3:29: error: identifier "y" is undefined')


FOUND = [
    '#include "k.cuh"',
    "#include <k.cuh>",
    '  #  include\t"k.cuh" // and why',
    '/* first */ # /* second */ include /* third */ "k.cuh"',
    '#include \\\n "k.cuh"',
    '%:include "k.cuh"',
    '#ifdef A\n#include "k.cuh"\n#endif',
    '#if __has_include("k.cuh")\n#include "k.cuh"\n#else\n#error not found\n#endif',
    "#if __has_include ( <k.cuh> )\n#include <k.cuh>\n#else\n#error not found\n#endif",
    'constexpr int a = 1\'000; /* it\'s\n#include "gone.cuh"\n*/\n#include "k.cuh"',
    "constexpr char q = '\"';\n#include \"k.cuh\"\nconstexpr char r = '\"';",
    '#include "./sub/../k.cuh"',
    '#include "k.cuh"\r\n',
]


@pytest.mark.parametrize("text", FOUND)
def test_an_include_is_found_however_it_is_written(
    text: str, tmp_path: Path, toolkit: Toolkit, workers: Workers
) -> None:
    write(tmp_path, {"f.cu": f"{text}\n{RELU}", "include/k.cuh": header("one", 2), "include/sub/x": ""})
    assert scan(tmp_path / "f.cu", [tmp_path / "include"]) == (tmp_path / "include/k.cuh",)
    assert read(tmp_path, "f.cu", "include").dependencies == (tmp_path / "f.cu", tmp_path / "include/k.cuh")
    module, _ = unit(tmp_path, "f.cu", "include")
    assert [name for name, _ in module.headers] == ["/tw/include/k.cuh"]
    assert ltoir(tmp_path, toolkit, workers, "f.cu", "include")


@pytest.mark.parametrize(
    "text",
    [
        '// #include "k.cuh"',
        '/*\n#include "k.cuh"\n*/',
        '// goes on \\\n#include "k.cuh"',
        'constexpr auto text = R"(\n#include "k.cuh"\n)";',
        'constexpr auto text = "\\\n#include <k.cuh>\\\n";',
        "#include <cuda_fp16.h>",
        '#include "cuda_fp16.h"',
        '#include "stdint.h"',
        "#include <cstdint>",
        '#if 0\n#include "missing.cuh"\n#endif',
        '#ifdef A\n#include "missing.cuh"\n#endif',
        '#if __has_include("missing.cuh")\n#include "missing.cuh"\n#endif',
    ],
)
def test_what_is_no_header_of_the_user_is_left_alone(
    text: str, tmp_path: Path, toolkit: Toolkit, workers: Workers
) -> None:
    write(tmp_path, {"f.cu": f"{text}\n{RELU}", "k.cuh": "#error read\n"})
    module, _ = unit(tmp_path, "f.cu")
    assert module.headers == ()
    assert text in module.text
    assert ltoir(tmp_path, toolkit, workers, "f.cu")


def test_a_users_header_comes_before_one_of_the_toolkit_and_only_where_it_is_searched(tmp_path: Path) -> None:
    write(tmp_path, {"f.cu": f"#include <cuda_fp16.h>\n{RELU}", "cuda_fp16.h": "", "own/cuda_fp16.h": ""})
    assert unit(tmp_path, "f.cu")[0].headers == ()
    assert [name for name, _ in unit(tmp_path, "f.cu", "own")[0].headers] == ["/tw/own/cuda_fp16.h"]


def test_a_missing_header_is_told_with_the_folders_that_were_searched(tmp_path: Path) -> None:
    files = {
        "lib/f.cu": f'{RELU}#include "k.cuh"\n',
        "lib/k.cuh": '#ifndef K\n#define K\n\n  #include "gone.cuh"\n#endif\n',
    }
    expected = """\
lib/k.cuh:4:12: error: there is no header "gone.cuh"
  hint: searched in lib, include
        a header of the toolkit goes in brackets: <gone.cuh>"""
    root = write(tmp_path, files)
    assert refusal(root, "lib/f.cu", "include") == expected
    device = f'// Written by tilewright from lib/f.cu; do not edit.\n#line 1 "lib/f.cu"\n{files["lib/f.cu"]}'
    with pytest.raises(SourceError) as caught:
        translation_unit(device, origin="lib/f.cu", root=root, include_path=[root / "include"])
    assert str(caught.value) == expected
    (root / "lib/k.cuh").unlink()
    with pytest.raises(SourceError) as caught:
        translation_unit(device, origin="lib/f.cu", root=root)
    assert str(caught.value).startswith('lib/f.cu:3:10: error: there is no header "k.cuh"\n  hint: searched in lib\n')


def test_the_toolkits_folders_decide_what_is_the_toolkits(tmp_path: Path) -> None:
    write(tmp_path, {"f.cu": f'#include "cuda_gone.h"\n#include "odd.h"\n{RELU}', "toolkit/odd.h": ""})
    source = (tmp_path / "f.cu").read_text()
    with pytest.raises(SourceError) as caught:
        translation_unit(source, origin="f.cu", root=tmp_path, toolkit_include=[tmp_path / "toolkit"])
    assert [problem.what for problem in caught.value.problems] == ['there is no header "cuda_gone.h"']


def test_an_export_in_a_header_is_refused(tmp_path: Path) -> None:
    write(tmp_path, {"f.cu": f'#include "k.cuh"\n{RELU}', "k.cuh": f"// tile_export\n#pragma once\n{RELU}"})
    assert refusal(tmp_path, "f.cu") == (
        "k.cuh:3:3: error: tile_export stands in a header\n"
        "  hint: export from the .cu file: a function there can call the one in the header"
    )
    write(tmp_path, {"k.cuh": "#define EXPORT [[tile_export(tile_shape = 128)]]\n"})
    assert refusal(tmp_path, "f.cu").startswith("k.cuh:1:1: error: tile_export stands in a header\n")


def test_one_file_behind_two_names_is_one_header(tmp_path: Path, toolkit: Toolkit, workers: Workers) -> None:
    text = f'#include "one.cuh"\n#include "link/one.cuh"\n{TILE}__device__ float f(float x) {{ return one::k(x); }}\n'
    write(tmp_path, {"f.cu": text, "one.cuh": header("one", 2)})
    (tmp_path / "link").symlink_to(tmp_path, target_is_directory=True)
    assert ltoir(tmp_path, toolkit, workers, "f.cu")
    assert scan(tmp_path / "f.cu") == (tmp_path / "one.cuh",)


def test_a_way_up_through_a_link_means_the_folder_that_the_system_means(tmp_path: Path) -> None:
    write(tmp_path, {"f.cu": f'#include "link/../k.cuh"\n{RELU}', "k.cuh": "wrong", "far/k.cuh": "", "far/sub/x": ""})
    (tmp_path / "link").symlink_to(tmp_path / "far/sub", target_is_directory=True)
    assert scan(tmp_path / "f.cu") == (tmp_path / "far/k.cuh",)
    assert read(tmp_path, "f.cu").dependencies == (tmp_path / "f.cu", tmp_path / "far/k.cuh")


def test_the_scan_counts_a_header_that_comes_later_where_it_is_told_to(tmp_path: Path) -> None:
    write(tmp_path, {"f.cu": '#include "./later.cuh"\n#include "gone.cuh"\n'})
    later = str(tmp_path / "./later.cuh")
    assert scan(tmp_path / "f.cu", is_there=lambda path: os.path.normpath(path) == later) == (Path(later),)


def test_headers_outside_the_project_have_no_path_of_this_machine(tmp_path: Path) -> None:
    far = write(tmp_path / "far", {"k.cuh": '#include "deep/k.cuh"\n', "deep/k.cuh": '#include "../../near/n.cuh"\n'})
    write(tmp_path / "near", {"n.cuh": ""})
    root = write(tmp_path / "project", {"f.cu": f'#include "{far}/k.cuh"\n{RELU}'})
    module, _ = unit(root, "f.cu")
    assert [name for name, _ in module.headers] == [
        "/tw/_outside/0/k.cuh",
        "/tw/_outside/0/deep/k.cuh",
        "/tw/_outside/1/n.cuh",
    ]
    assert str(tmp_path) not in repr((module.headers, module.name))
    assert str(tmp_path) not in module.text.split("\n", 3)[2]


def test_the_scan_survives_what_is_missing_or_no_text(tmp_path: Path) -> None:
    files: dict[str, str | bytes] = {
        "f.cu": '#include "gone.cuh"\n#include "k.cuh"\n#include MACRO\n#include "folder"\n',
        "k.cuh": b'\xff\xfe#include\n#include "f.cu"\n#include "l.cuh"\n',
        "l.cuh": "",
        "folder/x": "",
    }
    root = write(tmp_path, files)
    assert scan(root / "f.cu") == (root / "k.cuh", root / "f.cu", root / "l.cuh")
    assert scan(root / "gone.cu") == ()
    assert scan(root / "folder") == ()


def test_the_scan_sees_an_edited_header(tmp_path: Path) -> None:
    root = write(tmp_path, {"f.cu": '#include "k.cuh"\n', "k.cuh": "", "l.cuh": ""})
    assert scan(root / "f.cu") == (root / "k.cuh",)
    write(root, {"k.cuh": '#include "l.cuh"\n'})
    assert scan(root / "f.cu") == (root / "k.cuh", root / "l.cuh")


def test_a_header_full_of_comment_lines_is_scanned_at_once(tmp_path: Path) -> None:
    text = "#ifndef A_H\n" + "// //// // // a / b // c\n" * 3000 + '#endif\n#include "k.cuh"\n'
    root = write(tmp_path, {"f.cu": text, "k.cuh": ""})
    started = time.monotonic()
    assert scan(root / "f.cu") == (root / "k.cuh",)
    assert time.monotonic() - started < 2
