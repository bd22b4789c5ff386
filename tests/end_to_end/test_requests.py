"""What is asked for on the command line or in a script, and refused."""

from __future__ import annotations

import pytest

from end_to_end.sandbox import Sandbox

PLAIN = "[[tile_export(tile_shape = 128)]] __device__ float twice(float x) { return x + x; }\n"


@pytest.mark.parametrize("target", ["", "-n", ".", "build", "build/sm_120/relu.tilelib", "build/sm_90"])
def test_without_an_architecture_whoever_asks_for_a_library_learns_the_choices(sandbox: Sandbox, target: str) -> None:
    before = sandbox.tree()
    run = sandbox.scons(*target.split())
    assert run.code == 2
    assert len(run.errors) == 1
    assert "`arch` is missing: the code inside a tile library is built for one architecture" in run.errors[0]
    assert "arch=sm_120" in run.errors[0]
    assert "choose from: sm_80, sm_86," in run.errors[0]
    assert sandbox.tree() == before
    assert not (sandbox.folder / "build").exists()


def test_without_an_architecture_everything_else_can_be_built(sandbox: Sandbox) -> None:
    sandbox.write({"SConstruct": sandbox.read("SConstruct").decode() + 'Default(env.Textfile("other", "x"))\n'})
    sandbox.edit("SConstruct", 'tools=["default",', 'tools=["textfile",')
    assert sandbox.scons().code == 0
    assert sandbox.scons("other.txt").code == 0
    assert sandbox.scons("-h").code == 0
    assert sandbox.scons("build").code == 2


USES = """\
Default(relu)
env.Command("codes.txt", relu.ltoir, Copy("$TARGET", "$SOURCE"))
env.Command("one.txt", relu["sm_120"].ltoir, Copy("$TARGET", "$SOURCE"))
"""


def test_a_script_that_names_parts_of_a_library_can_be_read_without_an_architecture(sandbox: Sandbox) -> None:
    sandbox.write({"SConstruct": sandbox.read("SConstruct").decode() + USES})
    for option in ("-c", "-h"):
        assert sandbox.scons(option).code == 0
    for target in ("codes.txt", "one.txt", ""):
        run = sandbox.scons(target)
        assert run.code == 2
        assert "`arch` is missing" in run.errors[0]
    assert "Traceback" not in run.err
    other = sandbox.scons("arch=sm_90")
    assert other.code == 2
    assert "the library `relu` is not built for `sm_120`" in other.errors[0]
    assert sandbox.scons("arch=sm_120", "one.txt").code == 0
    assert sandbox.read("one.txt") == sandbox.read("build/sm_120/relu.ltoir")


@pytest.mark.parametrize(
    ("argument", "words"),
    [
        ("arch=sm_42", ["`sm_42` is not an architecture", "choose from: sm_80,", "SConstruct:5"]),
        ("arch=", ["`arch` is missing"]),
        ("arhc=sm_120", ["there is no build variable `arhc`", "did you mean `arch`?"]),
        ("print=maybe", ["`print=maybe` is neither yes nor no", "print=1 or print=0"]),
        ("tilelib_verbos=1", ["did you mean `tilelib_verbose`?"]),
    ],
)
def test_a_wrong_variable_is_one_clear_error(sandbox: Sandbox, argument: str, words: list[str]) -> None:
    run = sandbox.scons(argument)
    assert run.code == 2
    assert len(run.errors) == 1
    for word in words:
        assert word in run.errors[0]
    assert "Traceback" not in run.err
    assert not (sandbox.folder / "build").exists()


def test_a_variable_given_twice_is_an_error_not_the_last_one(sandbox: Sandbox) -> None:
    run = sandbox.scons("arch=sm_90", "arch=sm_120")
    assert run.code == 2
    assert "`arch` is given more than once: sm_90 and sm_120" in run.errors[0]
    assert "arch=sm_90,sm_120" in run.errors[0]


def test_the_folder_of_a_script_stands_for_what_the_script_declares(sandbox: Sandbox) -> None:
    for name in ("nn/relu", "nn/clip", "other"):
        one = name.replace("/", "_")
        script = f'Import("env")\nenv.TileMockCaller(env.TileLibrary("{one}", "{one}.cu"))\n'
        sandbox.write({f"{name}/SConscript": script, f"{name}/{one}.cu": PLAIN})
    scripts = 'SConscript(["nn/relu/SConscript", "nn/clip/SConscript", "other/SConscript"], exports="env")\n'
    sandbox.write({"SConstruct": sandbox.read("SConstruct").decode() + scripts})
    assert "`arch` is missing" in sandbox.scons("nn/relu").errors[0]
    for folder in ("nn/relu", "nn/relu/"):
        assert sandbox.scons("arch=sm_120", "-n", folder).out.count("Compiling device code") == 1
    assert sandbox.scons("arch=sm_120", "nn/relu").rebuilt("exports", "ltoir", "bytecode", "library")
    assert {name.split("/")[-2] for name in sandbox.tree("build")} == {"relu"}
    assert sandbox.scons("arch=sm_120", "nn/relu").up_to_date()
    both = sandbox.scons("arch=sm_120", "nn")
    assert both.out.count("Compiling device code") == 1
    assert {name.split("/")[-2] for name in sandbox.tree("build")} == {"relu", "clip"}
    assert sandbox.scons("arch=sm_120", "-c", "nn/clip").code == 0
    assert {name.split("/")[-2] for name in sandbox.tree("build")} == {"relu"}
    assert "is up to date" in sandbox.scons("arch=sm_120", "build/sm_120/nn/relu").out


@pytest.mark.parametrize(
    ("call", "words"),
    [
        ('env.TileLibrary("my-lib", "relu.cu")', "`my-lib` cannot name a tile library"),
        ('env.TileLibrary("both", ["relu.cu", "relu.cu"])', "the library `both` has 2 sources"),
        ('env.TileLibrary("none")', "the library `none` has 0 sources"),
        ('env.TileLibrary(source="relu.cu")', "`` cannot name a tile library"),
        ('env.TileLibrary("x", "folder")', "`folder` is a folder, and a file is needed there"),
        ('env.TileLibrary("x", "relu.cu", archs="sm_90")', "`TileLibrary` takes no `archs`"),
        ('env.TileLibrary("x", "relu.cu", tile_shape=64)', "`TileLibrary` takes no `tile_shape`"),
        ('env.TileLibrary("relu", "relu.cu", tile_shapes=64)', "there are two libraries `relu` in one folder"),
        ('env.TileLibrary("relu", "other.cu")', "there are two libraries `relu` in one folder"),
        ('env.TileLibrary("relu", "relu.cu", provider=1, provider_abi="observed")', "there are two libraries `relu`"),
        ('env.TileBindings(relu, languages=["python"])', "`TileBindings` takes no `languages`"),
        ('env.TileMockCaller(relu, refrence="r.py")', "`TileMockCaller` takes no `refrence`"),
        ('env.TileLibrary("x", 3)', "`3` is given for a file"),
        ("env.TileMockCaller(relu, reference=[3])", "`3` is given for a file"),
        ('env.TileProgram("x", "x.cu", libraries=[relu, 3])', "`3` is given for a file"),
        ('env.TileProgram("x", "x.cu", options=3)', "`3` is given for options"),
        ('env.TileShader("x", 3)', "`3` is given for a file"),
        ('env.MetalLibrary("x", [3])', "`3` is given for a file"),
        ("env.TileBindings([3])", "`3` is given for a file"),
        ("env.TileNeeds(3, 'cc')", "`3` is given for a file"),
        ("env.TileNeeds(relu, 3)", "`3` is no program"),
        ("env.TileBindings(relu, library=relu)", "`TileBindings` is given `library` twice"),
        ('env.TileBindings(relu, "x_tile.h")', "`TileBindings` is given 2 arguments without names"),
        ('env.Ltoir("x.ltoir", "relu.cu")', "`Ltoir` needs an architecture"),
        ('env.TileBytecode("x.tilebc", "relu.cu")', "end it with .iface.tilebc"),
    ],
)
def test_a_wrong_call_names_the_line_of_the_script(sandbox: Sandbox, call: str, words: str) -> None:
    sandbox.write({"SConstruct": sandbox.read("SConstruct").decode() + call + "\n", "folder/x.txt": ""})
    run = sandbox.scons("arch=sm_120")
    assert run.code == 2
    assert run.errors[0].startswith("SConstruct:6: error: ")
    assert words in run.errors[0]
    assert "Traceback" not in run.err


@pytest.mark.parametrize(
    ("call", "hint"),
    [
        (
            'TileLibrary("x", "relu.cu", tile_shape=64)',
            "did you mean `tile_shapes`? it takes name, source, arch, ltoir_",
        ),
        ('TileProgram("x", "x.cu", library=relu)', "did you mean `libraries`? it takes target, source, libraries, "),
        ('TileProgram("x", "x.cu", targets=relu)', "options, arch\n"),
        (
            'TileShader("x", "x.py", specialisation={})',
            "did you mean `specialisations`? it takes name, source, backends, specialisations, kernel, options, "
            "time_limit, arch\n",
        ),
        ('TileShader("x", "x.py", option={})', "did you mean `options`?"),
        ('MetalLibrary("x", [], lang="3.0")', "did you mean `language`? it takes name, sources, language, metal\n"),
    ],
)
def test_an_unknown_argument_gets_the_nearest_of_all_that_there_are(sandbox: Sandbox, call: str, hint: str) -> None:
    sandbox.write({"SConstruct": f"{sandbox.read('SConstruct').decode()}env.{call}\n"})
    assert hint in sandbox.scons("arch=sm_120").err


def test_a_library_is_not_given_a_variable_without_its_name(sandbox: Sandbox) -> None:
    sandbox.write({"SConstruct": sandbox.read("SConstruct").decode() + 'env.TileLibrary("x", "relu.cu", "sm_90")\n'})
    assert "`TileLibrary` is given 3 arguments without names" in sandbox.scons("arch=sm_120").err


def test_two_calls_for_two_architectures_or_with_equal_settings_are_one_library(sandbox: Sandbox) -> None:
    second = 'env.TileLibrary("relu", "relu.cu")\nenv.TileLibrary("relu", "relu.cu", arch="sm_90", tile_shapes=64)\n'
    sandbox.write({"SConstruct": sandbox.read("SConstruct").decode() + second})
    assert sandbox.scons("arch=sm_120", "-n").code == 0


ALIASES = {
    "verify": "env.TileMockCaller(library)",
    "verify-emulate": "env.TileMockCaller(library)",
    "check-metal": "env.TileShader(...)",
    "package": "env.TilePackage(",
}


@pytest.mark.parametrize("alias", ALIASES)
def test_an_alias_that_nothing_declares_says_what_would(sandbox: Sandbox, alias: str) -> None:
    before = sandbox.tree()
    for option in ("-Q", "-n"):
        run = sandbox.scons(alias, option)
        assert run.code == 2
        assert f"[{alias}] error: nothing in the build scripts declares `{alias}`" in run.err
        assert f"hint: {ALIASES[alias]}" in run.err
        assert "Do not know how" not in run.err
    assert sandbox.scons("-c", alias).code == 0
    assert sandbox.tree() == before


def test_what_a_user_calls_as_we_call_an_alias_is_built(sandbox: Sandbox) -> None:
    own = sandbox.read("SConstruct").decode()
    file, folder = 'env.Command("package", "relu.cu", Copy("$TARGET", "$SOURCE"))\n', 'env.Alias("verify", "package")\n'
    sandbox.write({"SConstruct": own + file + folder, "check-metal": "a file"})
    for name in ("package", "verify", "check-metal"):
        assert sandbox.scons(name).code == 0, name
    assert sandbox.read("package") == sandbox.read("relu.cu")
    sandbox.write({"SConstruct": own, "sub/verify-emulate/x.txt": ""})
    assert sandbox.scons("verify-emulate").code == 2
    assert sandbox.scons("-u", "verify-emulate", at="sub").code == 0, "a folder of the user's"


def test_the_include_path_may_be_one_string(sandbox: Sandbox) -> None:
    script = sandbox.read("SConstruct").decode().replace("relu = ", 'env["TILELIB_INCLUDE_PATH"] = "inc:more"\nrelu = ')
    sandbox.write({"SConstruct": script, "more/limit.cuh": sandbox.read("limit.cuh").decode()})
    (sandbox.folder / "limit.cuh").unlink()
    assert sandbox.scons("arch=sm_120", "build/sm_120/relu.tileexports.json").rebuilt("exports")


@pytest.mark.parametrize(
    ("source", "words"),
    [("relu.py", "not supported yet"), ("missing.cu", "missing.cu' not found"), ("relu.cc", ".cu")],
)
def test_a_source_that_cannot_be_read_is_one_clear_error(sandbox: Sandbox, source: str, words: str) -> None:
    sandbox.edit("SConstruct", '"relu.cu"', f'"{source}"')
    if source != "missing.cu":
        sandbox.write({source: "\n"})
    run = sandbox.scons("arch=sm_120")
    assert run.code == 2
    assert words in run.errors[0]
    assert "Traceback" not in run.err
    assert not (sandbox.folder / "build").exists()


def test_an_export_that_the_library_never_serves_is_refused(sandbox: Sandbox) -> None:
    sandbox.edit("relu.cu", "tile_shape = 128", 'tile_shape = 128, arch = {"sm_80"}')
    run = sandbox.scons("arch=sm_120")
    assert run.code == 2
    assert "`relu` is for sm_80, which cannot use device code made for sm_120" in run.errors[0]
    assert not (sandbox.folder / "build/sm_120/relu.tilelib").exists()


def test_errors_of_the_device_code_are_placed_in_the_users_file(sandbox: Sandbox) -> None:
    sandbox.edit("relu.cu", "x > LIMIT", "x > NOTHING")
    for _ in range(2):
        run = sandbox.scons("arch=sm_120")
        assert run.code == 2
        assert "relu.cu:5" in run.errors[0]
        assert "NOTHING" in run.errors[0]
        assert "Traceback" not in run.err
        assert "relu.ltoir" not in sandbox.tree("build", "sm_120")


def test_a_file_where_the_build_folder_should_be_is_one_clear_error(sandbox: Sandbox) -> None:
    sandbox.write({"build": "a file"})
    run = sandbox.scons("arch=sm_120")
    assert run.code == 2
    assert "`build` is a file" in run.errors[0]
    assert "Traceback" not in run.err
    assert sandbox.read("build") == b"a file"
