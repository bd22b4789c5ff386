"""What a kernel file may do while it runs, what it may not, and what the user reads then."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

import tilewright
from shaders.conftest import COPY, HEAD, SHAPES, Project
from tilewright.tileir.text.parser import parse_module
from tilewright.tileir.verifier.verify import verify_module

Refused = Callable[..., str]


def test_the_text_is_a_verified_module_and_the_same_each_time(project: Project) -> None:
    first = project.capture()
    module = parse_module(first.text)
    assert [function.name for function in module.functions] == ["copy"]
    assert verify_module(module) == []
    assert project.capture() == first
    assert first.read == ()
    assert first.said == ""


def test_a_set_of_names_has_the_same_order_in_every_capture(project: Project) -> None:
    body = COPY + '\nprint(list({f"name{i}" for i in range(50)}))\n'
    assert project.capture(body).said == project.capture(body).said


def test_what_the_file_prints_is_kept_beside_the_kernel(project: Project) -> None:
    printing = 'import os, sys\nprint("one")\nprint("two", file=sys.stderr)\nos.system("echo three")\n'
    found = project.capture(printing + COPY)
    assert set(found.said.split()) == {"one", "two", "three"}
    assert found.text == project.capture().text


def test_the_working_folder_of_the_build_is_not_changed(project: Project) -> None:
    before = os.getcwd()
    project.capture('import os\nassert not os.listdir(".")\nos.chdir("/")\n' + COPY)
    assert os.getcwd() == before


def test_a_file_in_the_working_folder_goes_away(project: Project) -> None:
    body = 'import os, tempfile\nopen("x.txt", "w").write("x")\ntempfile.mkdtemp()\nprint(os.getcwd())\n' + COPY
    where = project.capture(body).said
    assert where != str(project.folder)
    assert not os.path.exists(where)


@pytest.mark.parametrize(
    ("deed", "words"),
    [
        ('open(__file__ + ".txt", "w")', ("writes `k.py.txt`", "k.py:3")),
        ('import pathlib; pathlib.Path(__file__).with_name("d").mkdir()', ("changes `d`", "k.py:3")),
        ("import os; os.remove(__file__)", ("changes `k.py`", "k.py:3")),
        ('try: open("/var/tmp/tilewright-x", "w")\nexcept OSError: pass', ("writes `/var/tmp/tilewright-x`", "k.py:3")),
    ],
)
def test_a_file_elsewhere_is_neither_written_nor_changed(
    project: Project, refused: Refused, deed: str, words: tuple[str, ...]
) -> None:
    text = refused(deed + "\n" + COPY)
    assert all(word in text for word in (*words, "leaves no files", "capture-writes")), text
    assert [path.name for path in project.folder.iterdir()] == ["k.py"]


def test_a_file_that_raises_is_quoted_with_line_and_way(refused: Refused) -> None:
    text = refused("def inner():\n    raise ValueError('no such size')\n\ninner()\n" + COPY)
    assert text.startswith("k.py:4: error: the kernel file raised ValueError: no such size")
    assert "called from k.py:6" in text
    assert "Traceback" not in text


def test_a_fault_of_the_kernel_has_the_line_of_the_kernel(refused: Refused) -> None:
    text = refused(COPY.replace("x[p.index() * 4, e]\n", "x[p.index() * 4, e] if x[p.index(), e] > 0 else 0\n"))
    assert "k.py:8: error:" in text
    assert "Traceback" not in text


def test_a_file_that_loops_is_stopped_at_the_time_limit_and_says_where(project: Project, refused: Refused) -> None:
    started = time.monotonic()
    text = refused("print('before')\nwhile True:\n    pass\n", time_limit=0.5)
    assert "ran longer than 0.5 s and was stopped" in text
    assert text.startswith(("k.py:4", "k.py:5"))
    assert "before" in text or "time_limit=" in text
    assert time.monotonic() - started < 5


def test_a_process_that_the_file_started_does_not_outlive_it(project: Project) -> None:
    found = project.capture('import subprocess\nprint(subprocess.Popen(["sleep", "60"]).pid)\n' + COPY)
    deadline = time.monotonic() + 5
    while os.path.exists(f"/proc/{found.said}") and time.monotonic() < deadline:
        if Path(f"/proc/{found.said}/stat").read_text().split()[2] == "Z":
            return
        time.sleep(0.01)
    assert time.monotonic() < deadline


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ("import sys\nsys.exit(3)\n", ("k.py:4", "ends the program: exit status 3")),
        ("import os\nos._exit(3)\n", ("k.py", "ended with exit status 3", "capture-ended")),
        ("import os\nos.abort()\n", ("k.py", "killed by SIGABRT")),
        ("def f(:\n", ("k.py:3:7", "not Python", "kernel-file-syntax")),
        ("def f(): f()\nf()\n", ("k.py:3", "RecursionError")),
        ("input()\n", ("k.py:3", "EOFError")),
        ("from . import x\n", ("k.py:3", "relative import")),
        (
            'open("table.txt")\n',
            ("k.py:3", 'Path(__file__).parent / "table.txt"', 'env.Depends(shader.text, "table.txt")', "empty folder"),
        ),
        ("import numpy\nnumpy.loadtxt('table.txt')\n", ("k.py:4", 'Path(__file__).parent / "..."')),
        ("import no_such_module\n", ("k.py:3", "No module named 'no_such_module'")),
        ("x = 1\n", ("no kernel `copy`", "@tile.kernel")),
        (COPY + COPY, ("k.py:11", "two kernels of one name", "kernel-names")),
        (COPY + COPY.replace("def copy", "def other").replace("kernel", 'kernel(name="copy")', 1), ("two kernels of",)),
    ],
)
def test_a_file_that_gives_no_kernel_is_one_clean_error(refused: Refused, body: str, words: tuple[str, ...]) -> None:
    text = refused(body)
    assert all(word in text for word in words), text
    assert "Traceback" not in text


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"x": (10,), "y": object()}, ("`y`", "holds a object", "specialisation-type")),
        ({"x": (10,), "y": {"a": 1}}, ("`y`", "holds a dict")),
        ({"x": (10,), "y": (1, None)}, ("`y`", "holds None")),
        ([1], ("are a list, and not a mapping",)),
        ({1: (10,)}, ("the key 1",)),
        ({"x": (10,), "y": "ten"}, ("`y` is 'ten'", "made of integers", "k.py:4")),
        ({"x": (10,), "y": (2.5,)}, ("`y` is (2.5,)", "specialisation-type")),
        ({"x": (10,), "y": True}, ("`y` is True",)),
        ({"x": (10,)}, ("needs a specialisation for y", '"y": (...)')),
        ({**SHAPES, "yy": 1}, ("no parameter `yy`", "did you mean `y`?")),
        ({"x": (10, 2), "y": (10,)}, ("k.py:4: error: `copy`: `x` has rank 1", "hint: a shape of that rank: x=(10,)")),
        ({"x": (-1,), "y": (10,)}, ("k.py:4: error: ", "negative")),
    ],
)
def test_a_specialisation_that_does_not_fit_is_named(refused: Refused, given: object, words: tuple[str, ...]) -> None:
    text = refused(COPY, given)
    assert all(word in text for word in words), text


def test_a_function_that_makes_the_kernel_takes_the_values_of_its_parameters(project: Project) -> None:
    body = "def make(width, deep=(1, (2,))):\n    assert deep == (1, (2, 3)), deep\n"
    body += "\n".join(f"    {line}" for line in COPY.replace("4", "width").splitlines()) + "\n    return copy\n"
    given = {**SHAPES, "width": 4, "deep": [1, [2, 3]]}
    assert project.capture(body, given, name="copy4", kernel="make").text == project.capture().text
    wide = project.capture(body, {**given, "width": 8}, name="copy8", kernel="make").text
    assert wide != project.capture().text


@pytest.mark.parametrize(
    ("body", "words"),
    [
        (
            "def make(width):\n    return 1\n",
            ("`make` makes the kernel and needs a specialisation for width", "k.py:3"),
        ),
        ("def make():\n    return 1\n", ("`make` gives a int and no kernel", "k.py:3")),
    ],
)
def test_a_function_that_makes_no_kernel_is_named(refused: Refused, body: str, words: tuple[str, ...]) -> None:
    text = refused(body, kernel="make")
    assert all(word in text for word in words), text


def test_of_several_kernels_the_wanted_one_is_taken_and_a_misspelt_one_is_offered(
    project: Project, refused: Refused
) -> None:
    both = COPY + COPY.replace("def copy", "def other")
    assert 'func "other"' in project.capture(both, name="anything", kernel="other").text
    assert "did you mean `other`?" in refused(both, kernel="othr")
    assert 'func "copy"' in project.capture(name="anything").text


def test_the_environment_of_the_build_is_not_seen(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SIZE", "12")
    monkeypatch.setenv("PYTHONPATH", "/somewhere/else")
    body = "import os, sys\nassert 'SIZE' not in os.environ\nassert '/somewhere/else' not in sys.path\n"
    body += "assert not [name for name in sys.modules if name.startswith(('SCons', 'tilewright.scons'))]\n"
    assert project.capture(body + COPY).text


def test_the_process_takes_the_package_of_the_build_although_another_one_is_installed(tmp_path: Path) -> None:
    package = Path(tilewright.__file__).parent
    shutil.copytree(package, tmp_path / "tools/tilewright", ignore=shutil.ignore_patterns("__pycache__"))
    (tmp_path / "k.py").write_text(HEAD + COPY + "print(tile.__file__)\n")
    asked = (
        "import pathlib, sys; from tilewright.shaders import capture, request; root = pathlib.Path(sys.argv[1]); "
        f"asked = request.make_request('copy', '', {SHAPES}); "
        "print(capture.capture(root / 'k.py', asked, root=root).said)"
    )
    command = [sys.executable, "-c", asked, tmp_path]
    environment = {**os.environ, "PYTHONPATH": str(tmp_path / "tools")}
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == str(tmp_path / "tools/tilewright/tile/__init__.py")


def test_files_of_the_project_that_are_read_are_told(project: Project) -> None:
    project.write("sizes.json", "4")
    project.write("part/__init__.py", "")
    project.write("part/deep.py", "A = 1\n")
    body = "import importlib, pathlib\nimportlib.import_module('part.deep')\n"
    body += "pathlib.Path(__file__).with_name('sizes.json').read_text()\n"
    read = project.capture(body + COPY).read
    assert [path.relative_to(project.folder).as_posix() for path in read] == [
        "part/__init__.py",
        "part/deep.py",
        "sizes.json",
    ]


def test_files_elsewhere_that_are_read_are_told_unless_they_are_installed_or_the_systems(
    project: Project, tmp_path_factory: pytest.TempPathFactory
) -> None:
    elsewhere = tmp_path_factory.mktemp("elsewhere")
    (elsewhere / "sizes.json").write_text("4")
    (elsewhere / "deep.py").write_text("A = 1\n")
    body = f"import pathlib, sys\nsys.path.append({str(elsewhere)!r})\nimport deep\n"
    body += f"pathlib.Path({str(elsewhere / 'sizes.json')!r}).read_text()\n"
    installed = (
        *("import pathlib, tempfile, colorsys, numpy, tilewright",),
        *(f"pathlib.Path({each}).read_bytes()" for each in ("numpy.__file__", "colorsys.__file__")),
        "pathlib.Path(tilewright.__file__).with_name('problem.py').read_bytes()",
        *(f"pathlib.Path({each!r}).read_bytes()" for each in ("/etc/passwd", "/proc/self/stat")),
        *("own = tempfile.NamedTemporaryFile()", "pathlib.Path(own.name).read_bytes()"),
    )
    assert project.capture(body + "\n".join(installed) + COPY).read == (elsewhere / "deep.py", elsewhere / "sizes.json")
