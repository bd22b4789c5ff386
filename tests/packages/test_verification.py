"""A package that was changed in any way, or that comes from somebody hostile, is refused with the reason."""

from __future__ import annotations

import gzip
import io
import json
import random
import struct
import tarfile
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest
from msgspec import structs

from needed_tools import needs
from tilewright.cli import main
from tilewright.packages import reading
from tilewright.packages.archives import write_tar_gz, write_zip, zipped
from tilewright.packages.assembly import Artifact
from tilewright.packages.error import PackageError
from tilewright.packages.manifest import read_manifest, record_of, write_manifest
from tilewright.packages.reading import read_archive
from tilewright.packages.verification import verify_package

ROOT = "tilelib_three-1.0"
FORMATS = ("zip", "tar.gz", "wheel")
Make = Callable[[str], bytes]


def refusal(data: bytes, file: str = "p.zip") -> str:
    with pytest.raises(PackageError) as refused:
        verify_package(data, file)
    return str(refused.value)


def forged(package: Make, architectures: list[str] | None = None, **changes: bytes | None) -> bytes:
    """A zip whose files are changed, and whose manifest is mended to fit."""
    files = {path.removeprefix(f"{ROOT}/"): data for path, data in read_archive(package("zip"), "x").items()}
    manifest = read_manifest(files.pop("manifest.json"), "x")
    for path, data in changes.items():
        files.pop(path, None) if data is None else files.update({path: data})
    manifest = structs.replace(
        manifest,
        architectures=architectures or manifest.architectures,
        files={path: record_of(data) for path, data in files.items()},
    )
    return write_zip(
        {f"{ROOT}/{path}": data for path, data in files.items()} | {f"{ROOT}/manifest.json": write_manifest(manifest)}
    )


def with_manifest(package: Make, edit: Callable[[dict[str, object]], object]) -> bytes:
    files = read_archive(package("zip"), "x")
    manifest = json.loads(files[f"{ROOT}/manifest.json"])
    edit(manifest)
    return write_zip({**files, f"{ROOT}/manifest.json": json.dumps(manifest).encode()})


@pytest.mark.parametrize("format", FORMATS)
def test_a_package_as_it_was_made_is_verified(package: Make, format: str) -> None:
    verified = verify_package(package(format), "p" + {"wheel": ".whl"}.get(format, f".{format}"))
    assert verified.line().startswith("tilelib_three 1.0: three for sm_90, sm_120, Tile IR 13.5, ")


@pytest.mark.parametrize("format", FORMATS)
def test_any_changed_byte_of_a_file_is_found(package: Make, format: str) -> None:
    files = read_archive(package(format), "x")
    write = write_tar_gz if format == "tar.gz" else zipped
    for path, data in files.items():
        changed = write({**files, path: data[:-1] + bytes([data[-1] ^ 1])})
        assert refusal(changed, "p.whl" if format == "wheel" else "p.zip"), path


def test_a_changed_file_a_missing_one_and_an_extra_one_are_named(package: Make) -> None:
    files = read_archive(package("zip"), "x")
    library = f"{ROOT}/lib/tilelib/sm_90/three.tilelib"
    text = refusal(write_zip({**files, library: files[library] + b"\0"}))
    assert "p.zip:lib/tilelib/sm_90/three.tilelib: error: the file was changed: its SHA-256 is " in text
    assert "hint: get the package again, or make it again" in text
    fewer = {path: data for path, data in files.items() if path != library}
    assert "p.zip:lib/tilelib/sm_90/three.tilelib: error: the manifest lists a file that is not there" in refusal(
        write_zip(fewer)
    )
    assert "p.zip:share/x: error: a file is there that the manifest does not list" in refusal(
        write_zip({**files, f"{ROOT}/share/x": b""})
    )
    assert "a file is there that the manifest does not list" in refusal(write_zip({**files, "elsewhere/x": b""}))


@pytest.mark.parametrize(
    ("edit", "words"),
    [
        (lambda made: made.update(schema=2), "the package has schema version 2; this release reads version 1"),
        (lambda made: made.pop("version"), "the manifest is broken: Object missing required field `version`"),
        (lambda made: made.update(more=1), "the manifest is broken: Object contains unknown field `more`"),
        (lambda made: made.update(files=[]), "the manifest is broken: Expected `object`, got `array` - at `$.files`"),
        (lambda made: made.update(version="2.0"), "its manifest names tilelib_three-2.0"),
        (lambda made: made.update(name="../x"), "`../x` cannot name a package"),
        (lambda made: made.update(architectures=["sm_90"]), "the manifest names other libraries than are there"),
        (lambda made: made.update(bytecode_version="13.6"), "bytecode version 13.5, the manifest says 13.6"),
        (lambda made: made.update(sbom="../x"), "the manifest names `../x` as bill of materials, which is not there"),
    ],
)
def test_a_manifest_edited_by_hand_is_refused(
    package: Make, edit: Callable[[dict[str, object]], object], words: str
) -> None:
    assert words in refusal(with_manifest(package, edit))


def test_contents_that_do_not_load_are_refused_although_their_digests_fit(
    package: Make, artifacts: list[Artifact]
) -> None:
    sm_90 = "lib/tilelib/sm_90/three.tilelib"
    assert "this is not a tile library" in refusal(forged(package, **{sm_90: b"nonsense"}))
    assert "p.zip:share/tilelib/three.tileexports.json: error:" in refusal(
        forged(package, **{"share/tilelib/three.tileexports.json": b"{}"})
    )
    text = refusal(forged(package, **{"share/tilelib/three.iface.tilebc": artifacts[2].data[:-1]}))
    assert "the interface beside the library is not the one in it" in text
    assert "p.zip:share/tilelib/three.iface.tilebc: error:" in text


NEWER = "three.tilelib: error: the device code is LTOIR for compute_90, newer than sm_75"


def test_device_code_newer_than_its_folder_is_refused(package: Make, artifacts: list[Artifact]) -> None:
    moved = {f"lib/tilelib/{arch}/three.tilelib": None for arch in ("sm_90", "sm_120")}
    older = {"lib/tilelib/sm_75/three.tilelib": artifacts[0].data}
    assert f"p.zip:lib/tilelib/sm_75/{NEWER}" in refusal(forged(package, ["sm_75"], **moved, **older))


@pytest.mark.parametrize(
    ("arch", "spoilt", "words"),
    [
        ("sm_75", "", f"lib/tilelib/sm_75/{NEWER}\n  hint: build the library for sm_75, or pack it as one for sm_90\n"),
        ("sm_90", "three.tilelib", "lib/tilelib/sm_90/three.tilelib: error: this is not a tile library"),
        ("sm_90", "three.iface.tilebc", "the interface beside the library is not the one in it\n  hint: take library"),
        ("sm_90", "three.tileexports.json", "share/tilelib/three.tileexports.json: error: "),
    ],
)
def test_what_would_not_be_verified_is_not_packed(
    capsys: pytest.CaptureFixture[str], artifacts: list[Artifact], tmp_path: Path, arch: str, spoilt: str, words: str
) -> None:
    for each in artifacts:
        (tmp_path / Path(each.path).name).write_bytes(each.data)
    if spoilt:
        (tmp_path / spoilt).write_bytes(b"nonsense")
    out = tmp_path / "out"
    command = ("package", "three", "--version", "1.0", "--library", f"{arch}={tmp_path}/three.tilelib", "-o", str(out))
    assert main(list(command)) == 1
    assert words in capsys.readouterr().err
    assert not out.exists()


@pytest.mark.parametrize(
    ("source", "tools"),
    [
        ("", {"assembler"}),
        ("three.cu", {"assembler", "nvrtc"}),
        pytest.param("three.rs", {"assembler", "rustc", "llvmlite", "nvvm", "libdevice"}, marks=needs("rustc")),
    ],
)
def test_the_command_names_the_compilers_of_the_sources_that_it_is_told(
    artifacts: list[Artifact], tmp_path: Path, source: str, tools: set[str]
) -> None:
    (tmp_path / "three.tilelib").write_bytes(artifacts[0].data)
    (tmp_path / (source or "unused")).write_text("")
    command = ["package", "three", "--version", "1.0", "--library", f"sm_90={tmp_path}/three.tilelib"]
    command += ["--source", f"{tmp_path}/{source}"] if source else []
    assert main([*command, "-o", str(tmp_path)]) == 0
    archive = (tmp_path / "tilelib_three-1.0.zip").read_bytes()
    assert verify_package(archive, "p.zip").manifest.tools.keys() == {"tilewright", *tools}


def test_a_wheel_is_held_against_its_own_metadata(package: Make) -> None:
    files = read_archive(package("wheel"), "x")
    info = "tilelib_three-1.0.dist-info"
    lacking = {path: data for path, data in files.items() if not path.endswith("RECORD")}
    assert f"the wheel lacks RECORD, METADATA or WHEEL under {info}" in refusal(zipped(lacking), "p.whl")
    other = files[f"{info}/METADATA"].replace(b"Version: 1.0\n", b"Version: 2.0\n")
    text = refusal(zipped({**files, f"{info}/METADATA": other}), "p.whl")
    assert "the metadata are of tilelib_three 2.0" in text
    assert f"p.whl:{info}/METADATA: error: RECORD does not list the file as it is" in text
    assert "the wheel has metadata under other-1.dist-info" in refusal(
        zipped({**files, "other-1.dist-info/METADATA": b""}), "p.whl"
    )


@pytest.mark.parametrize(
    ("record", "words"),
    [(b"a\rb,c,d\n", "new-line character"), (b'"' + b"x" * 200_000 + b'"\n', "field larger than field limit")],
)
def test_a_record_that_is_no_table_is_refused(package: Make, record: bytes, words: str) -> None:
    files = read_archive(package("wheel"), "x")
    info = "tilelib_three-1.0.dist-info"
    text = refusal(zipped({**files, f"{info}/RECORD": record}), "p.whl")
    assert f"p.whl:{info}/RECORD: error: RECORD is broken: {words}" in text


def test_other_files_are_no_packages(package: Make) -> None:
    assert "neither a zip archive, a wheel nor a tar.gz" in refusal(b"")
    assert "neither a zip archive" in refusal(b"<html>")
    assert "it has 0 manifest.json" in refusal(write_zip({"a/b": b""}))
    both = {"a/manifest.json": b"", "b/manifest.json": b""}
    assert "it has 2 manifest.json" in refusal(write_zip(both))
    for format in ("zip", "tar.gz"):
        for end in (30, len(package(format)) // 2, len(package(format)) - 1):
            assert "the archive is broken" in refusal(package(format)[:end])
    assert "something follows its end" in refusal(package("tar.gz") + b"x")


def test_random_damage_gives_a_refusal_and_nothing_else(package: Make) -> None:
    chance = random.Random(7)
    for format in FORMATS:
        for _ in range(150):
            data = bytearray(package(format))
            for _ in range(chance.choice((1, 1, 4))):
                data[chance.randrange(len(data))] ^= 1 << chance.randrange(8)
            try:
                verify_package(bytes(data), "p.whl" if format == "wheel" else "p.zip")
            except PackageError:
                continue


HOSTILE = ("../x", "/etc/x", "a/../../x", "C:\\x", "a\\..\\..\\x", "")


@pytest.mark.parametrize("path", HOSTILE)
def test_a_path_that_leads_out_is_refused_in_both_kinds_of_archive(path: str) -> None:
    words = ("leads out of the package", "is absolute", "holds a backslash", "is empty")
    for data in (write_zip({path: b"x"}), write_tar_gz({path: b"x"})):
        assert any(word in refusal(data) for word in words)


def test_links_devices_and_folders_are_refused() -> None:
    kinds = {
        tarfile.SYMTYPE: "is a link",
        tarfile.LNKTYPE: "is a link",
        tarfile.CHRTYPE: "is not a plain file",
        tarfile.FIFOTYPE: "is not a plain file",
        tarfile.DIRTYPE: "is not a plain file",
    }
    for kind, words in kinds.items():
        out = io.BytesIO()
        with tarfile.open(fileobj=out, mode="w:gz") as archive:
            entry = tarfile.TarInfo("a/manifest.json")
            entry.type, entry.linkname = kind, "/etc/passwd"
            archive.addfile(entry)
        assert f"the entry 'a/manifest.json' {words}" in refusal(out.getvalue())
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        entry = zipfile.ZipInfo("a/link")
        entry.external_attr = 0o120777 << 16
        archive.writestr(entry, "/etc/passwd")
        archive.writestr("a/folder/", "")
    assert "the entry 'a/link' is a link" in refusal(out.getvalue())
    assert "the entry 'a/folder/' is not a plain file" in refusal(out.getvalue())


@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_two_entries_of_one_name_are_refused() -> None:
    zip_out, tar_out = io.BytesIO(), io.BytesIO()
    with zipfile.ZipFile(zip_out, "w") as archive, tarfile.open(fileobj=tar_out, mode="w:gz") as tar:
        for text in (b"one", b"two"):
            archive.writestr("a/b", text)
            entry = tarfile.TarInfo("a/b")
            entry.size = len(text)
            tar.addfile(entry, io.BytesIO(text))
    for out in (zip_out, tar_out):
        assert "the path 'a/b' is there twice" in refusal(out.getvalue())


def test_a_bomb_is_not_unpacked(monkeypatch: pytest.MonkeyPatch) -> None:
    zeros = bytes(32 << 20)
    for data in (write_zip({"a/b": zeros}), write_tar_gz({"a/b": zeros}), gzip.compress(zeros)):
        assert "the archive unpacks to more than 200 times its size, or more than 1 GiB" in refusal(data)
    lying = bytearray(write_zip({"a/b": zeros}))
    at = lying.rindex(b"PK\x01\x02")
    lying[at + 24 : at + 28] = struct.pack("<I", 5)  # the size that the directory claims
    assert "the archive" in refusal(bytes(lying))
    monkeypatch.setattr(reading, "ENTRY_LIMIT", 3)
    for data in (write_zip({f"a/{n}": b"" for n in range(4)}), write_tar_gz({f"a/{n}": b"" for n in range(4)})):
        assert "the archive holds more than 3 files" in refusal(data)


def test_the_command_verifies_and_unpacks_only_what_is_sound(
    capsys: pytest.CaptureFixture[str], package: Make, tmp_path: Path
) -> None:
    def run(*words: str) -> tuple[int, str, str]:
        code = main(list(words))
        return (code, *capsys.readouterr())

    file, folder = tmp_path / "three.zip", tmp_path / "new"
    file.write_bytes(package("zip"))
    assert run("verify-package", str(file)) == (
        0,
        "package verified: tilelib_three 1.0: three for sm_90, sm_120, Tile IR 13.5, 9 files\n",
        "",
    )
    unpacked = run("verify-package", str(file), "--extract", str(folder))
    assert unpacked[0] == 0
    assert unpacked[1].endswith(f"unpacked to {folder / ROOT} (10 files, manifest.json among them)\n")
    assert {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()} == (
        read_archive(package("zip"), "x")
    )
    again = run("verify-package", str(file), "--extract", str(folder))
    assert again[0] == 1
    assert "is not an empty folder, and a package is unpacked into a new or an empty one" in again[2]
    file.write_bytes(write_zip({"../x": b"x"}))
    hostile = run("verify-package", str(file), "--extract", str(tmp_path / "other"))
    assert (hostile[0], "leads out of the package" in hostile[2]) == (1, True)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["new", "three.zip"]


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["relu"], "error: `tilewright package` needs a version\n  hint: --version 1.0\n"),
        (["re-lu", "--version", "1.0"], "error: `re-lu` cannot name a package"),
        (["relu", "--version", "1.0"], "error: the package `relu` holds no tile library"),
        (
            ["relu", "--version", "1.0", "--library", "relu.tilelib"],
            "error: `--library relu.tilelib` names no architecture and file\n"
            "  hint: --library sm_120=build/relu.tilelib\n",
        ),
        (
            ["relu", "--version", "one"],
            "error: `one` is no version, neither of PEP 440 nor a semantic one\n  hint: such",
        ),
        (
            ["relu", "--version", "1.0", "--format", "rpm"],
            "error: `rpm` is no format of a package\n  hint: choose from",
        ),
        (
            ["relu", "--version", "1.0", "--source", "absent.cu"],
            "error: `--source absent.cu`: there is no such file\n",
        ),
        (["relu", "--version", "1.0", "--library", "sm_90=absent.tilelib"], "error: cannot read `absent.tilelib`"),
        (["relu", "--version", "1.0", "--library", "x=absent.tilelib"], "error:"),
        (
            ["relu", "--version", "1.0", "--add", "relu.tilelib"],
            "error: `relu.tilelib` is of one architecture\n  hint: --library sm_120=relu.tilelib\n",
        ),
    ],
)
def test_the_command_that_packs_tells_what_is_wrong(
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    words: list[str],
    expected: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["package", *words]) == 1
    assert capsys.readouterr().err.startswith(expected)
    assert list(tmp_path.iterdir()) == []
