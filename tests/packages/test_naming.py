"""What a package may be called, and which paths it may hold."""

from __future__ import annotations

import pytest

from tilewright.packages.error import PackageError
from tilewright.packages.layout import needs_architecture, path_of
from tilewright.packages.naming import PackageSpec, check_spec, path_problems


def told(spec: PackageSpec) -> str:
    with pytest.raises(PackageError) as refused:
        check_spec(spec)
    return str(refused.value)


@pytest.mark.parametrize(
    ("name", "example"),
    [("my-relu", "my_relu"), ("2fast", "fast"), ("", "relu"), ("a__b", "a_b"), ("../x", "x"), ("größe", "gr_e")],
)
def test_a_name_that_is_no_identifier_is_refused_with_one_that_is(name: str, example: str) -> None:
    text = told(PackageSpec(name, "1.0"))
    assert f"`{name}` cannot name a package" in text
    assert f"such as {example}" in text
    check_spec(PackageSpec(example, "1.0"))


@pytest.mark.parametrize("name", ["relu", "tilelib_relu", "R2d2"])
def test_sound_names_are_known_by_the_same_identifier_everywhere(name: str) -> None:
    spec = PackageSpec(name, "1.0")
    check_spec(spec)
    assert spec.identifier == f"tilelib_{name.removeprefix('tilelib_')}"


@pytest.mark.parametrize("version", ["1.0", "1.2.3", "1.2.3rc1", "2.0+local", "1.2.3-x.7.z.92", "1.0.0-alpha+001"])
def test_versions_of_pep_440_and_semantic_ones_name_archives(version: str) -> None:
    check_spec(PackageSpec("relu", version))


@pytest.mark.parametrize(
    ("version", "formats", "words"),
    [
        ("one", ("zip",), "`one` is no version, neither of PEP 440 nor a semantic one"),
        ("1.0/../..", ("zip",), "is no version"),
        ("", ("zip",), "`` is no version"),
        ("1.2.3-x.7.z.92", ("zip", "wheel"), "is a semantic version, and a wheel needs one of PEP 440"),
        ("1!2.0", ("zip",), "the version `1!2.0` cannot be part of a file name"),
    ],
)
def test_other_versions_are_refused(version: str, formats: tuple[str, ...], words: str) -> None:
    assert words in told(PackageSpec("relu", version, formats))
    assert "hint: such as 1.0, 1.2.3 or 1.2.3rc1" in told(PackageSpec("relu", version, formats))


def test_formats_are_checked_all_at_once() -> None:
    assert "`tar` is no format of a package\n  hint: did you mean `tar.gz`?" in told(PackageSpec("a", "1.0", ("tar",)))
    assert "choose from zip, tar.gz, wheel" in told(PackageSpec("a", "1.0", ("rpm",)))
    assert "has no formats" in told(PackageSpec("a", "1.0", ()))
    assert "in one format twice: zip, zip" in told(PackageSpec("a", "1.0", ("zip", "zip")))
    both = told(PackageSpec("a b", "x", ("rpm",), "Apache\n2"))
    assert both.count("error: ") == 4


LICENCES = ("MIT", "MIT OR Apache-2.0", "Apache-2.0 WITH LLVM-exception", "LicenseRef-Acme AND (MIT OR 0BSD)")


@pytest.mark.parametrize("licence", LICENCES)
def test_expressions_of_spdx_name_licences(licence: str) -> None:
    check_spec(PackageSpec("relu", "1.0", licence=licence))


@pytest.mark.parametrize(
    ("licence", "words"),
    [
        ("Proprietary", "`Proprietary` is no SPDX licence expression\n  hint: such as Apache-2.0, "),
        ("MIT OR", "is no SPDX licence expression"),
        ("MIT AND (0BSD", "is no SPDX licence expression"),
        ("Apache-2.0 WITH MIT", "is no SPDX licence expression"),
        ("apache-2.0 or mit", "SPDX does not spell the licence `apache-2.0 or mit` so\n  hint: Apache-2.0 OR MIT"),
    ],
)
def test_other_licences_are_refused(licence: str, words: str) -> None:
    assert words in told(PackageSpec("relu", "1.0", licence=licence))


@pytest.mark.parametrize(
    ("path", "fault"),
    [
        ("/etc/passwd", "is absolute"),
        ("C:/x", "is absolute"),
        ("a/../../x", "leads out of the package"),
        ("..", "leads out of the package"),
        ("a\\..\\x", "holds a backslash"),
        ("a\0b", "holds a backslash or a control character"),
        ("a//b", "holds an empty part"),
        ("./a", "holds an empty part"),
        ("a/", "holds an empty part"),
        ("", "is empty"),
        ("a" * 241, "is empty or longer than 240 characters"),
        ("a/aux.txt", "means another file on some systems"),
        ("a/b.", "means another file on some systems"),
        ("a/b:c", "means another file on some systems"),
    ],
)
def test_a_path_that_is_not_safe_everywhere_is_named(path: str, fault: str) -> None:
    (only,) = path_problems(["good/file.txt", path])
    assert repr(path) in only
    assert fault in only


def test_two_files_cannot_share_a_path() -> None:
    assert list(path_problems(["a", "b/c", "b/d"])) == []
    assert list(path_problems(["a/b", "a/b"])) == ["the path 'a/b' is there twice"]
    same = "are one file where neither case nor composition counts"
    assert list(path_problems(["a/b", "A/b"])) == [f"'a/b' and 'A/b' {same}"]
    assert list(path_problems(["\u00fc", "u\u0308"])) == [rf"'\xfc' and 'u\u0308' {same}"]
    assert list(path_problems(["a", "a/b"])) == ["'a' is a file and a folder"]


def test_every_kind_of_artifact_has_its_place() -> None:
    places = {
        "relu.tilelib": "lib/tilelib/sm_90/relu.tilelib",
        "relu_tile.py": "lib/tilelib/sm_90/relu_tile.py",
        "relu_tile.h": "include/relu_tile.h",
        "relu_tile.rs": "share/tilelib/rust/relu_tile.rs",
        "relu.tileexports.json": "share/tilelib/relu.tileexports.json",
        "relu.iface.tilebc": "share/tilelib/relu.iface.tilebc",
        "LICENSE": "licenses/LICENSE",
        "licence-mit.txt": "licenses/licence-mit.txt",
        "NOTICE": "licenses/NOTICE",
        "caller.cubin": "share/tilelib_relu/sm_90/caller.cubin",
    }
    assert {name: path_of(name, "sm_90", identifier="tilelib_relu") for name in places} == places
    assert path_of("README.md", identifier="tilelib_relu") == "share/tilelib_relu/README.md"
    assert [name for name in places if needs_architecture(name)] == ["relu.tilelib", "relu_tile.py"]
