"""What a package holds, that its bytes follow from its contents alone, and what cannot become one."""

from __future__ import annotations

import hashlib
import io
import json
import os
import re
import tarfile
import zipfile
from collections.abc import Callable
from dataclasses import replace

import pytest
from spdx_tools.spdx.parser.jsonlikedict.json_like_dict_parser import JsonLikeDictParser
from spdx_tools.spdx.validation.document_validator import validate_full_spdx_document

from packages.conftest import TOOLS
from packages.test_naming import LICENCES
from tilewright import __version__
from tilewright.packages.assembly import Artifact, write_package
from tilewright.packages.error import PackageError
from tilewright.packages.naming import PackageSpec
from tilewright.packages.reading import read_archive

FORMATS = ("zip", "tar.gz", "wheel")
SPEC = PackageSpec("three", "1.0", FORMATS, "Apache-2.0")
TREE = [
    "lib/cmake/tilelib_three/tilelib_three-config-version.cmake",
    "lib/cmake/tilelib_three/tilelib_three-config.cmake",
    "lib/pkgconfig/tilelib_three.pc",
    "lib/tilelib/sm_120/three.tilelib",
    "lib/tilelib/sm_90/three.tilelib",
    "licenses/LICENSE",
    "manifest.json",
    "sbom.spdx.json",
    "share/tilelib/three.iface.tilebc",
    "share/tilelib/three.tileexports.json",
]


def refusal(artifacts: list[Artifact], spec: PackageSpec = SPEC) -> str:
    with pytest.raises(PackageError) as refused:
        write_package(spec, artifacts, TOOLS)
    return str(refused.value)


def test_every_format_holds_the_same_tree(package: Callable[[str], bytes]) -> None:
    for format in ("zip", "tar.gz"):
        assert list(read_archive(package(format), "x")) == [f"tilelib_three-1.0/{path}" for path in TREE]
    wheel = list(read_archive(package("wheel"), "x"))
    assert [path.removeprefix("tilelib_three/") for path in wheel if path.startswith("tilelib_three/")] == sorted(
        [*TREE, "__init__.py"]
    )
    assert wheel[-1] == "tilelib_three-1.0.dist-info/RECORD"
    assert "tilelib_three-1.0.dist-info/licenses/LICENSE" in wheel


def test_order_of_the_artifacts_and_umask_do_not_matter(
    artifacts: list[Artifact], package: Callable[[str], bytes]
) -> None:
    before = os.umask(0o077)
    try:
        again = write_package(SPEC, artifacts[::-1], dict(reversed(TOOLS.items())))
    finally:
        os.umask(before)
    assert again == {SPEC.file_name(format): package(format) for format in FORMATS}


def test_entries_have_one_time_one_owner_and_one_mode(package: Callable[[str], bytes]) -> None:
    for format in ("zip", "wheel"):
        with zipfile.ZipFile(io.BytesIO(package(format))) as archive:
            entries = archive.infolist()
        facts = {(entry.date_time, entry.external_attr >> 16, entry.create_system) for entry in entries}
        assert facts == {((1980, 1, 1, 0, 0, 0), 0o100644, 3)}
    with tarfile.open(fileobj=io.BytesIO(package("tar.gz"))) as archive:
        tar = archive.getmembers()
    assert {(entry.mtime, entry.mode, entry.uid, entry.gid, entry.uname, entry.gname) for entry in tar} == {
        (315532800, 0o644, 0, 0, "", "")
    }
    assert package("tar.gz")[:10] == bytes.fromhex("1f8b08000000000002ff")


def test_the_manifest_names_contents_tools_and_digests(package: Callable[[str], bytes]) -> None:
    files = read_archive(package("zip"), "x")
    manifest = json.loads(files.pop("tilelib_three-1.0/manifest.json"))
    listed = manifest.pop("files")
    assert manifest == {
        "schema": 1,
        "name": "tilelib_three",
        "version": "1.0",
        "licence": "Apache-2.0",
        "libraries": ["three"],
        "architectures": ["sm_90", "sm_120"],
        "bytecode_version": "13.5",
        "tools": {"tilewright": __version__, **TOOLS},
        "sbom": "sbom.spdx.json",
    }
    assert {f"tilelib_three-1.0/{path}": (row["size"], row["sha256"]) for path, row in listed.items()} == {
        path: (len(data), hashlib.sha256(data).hexdigest()) for path, data in files.items()
    }


def test_the_bill_of_materials_is_spdx_and_lists_files_and_tools(package: Callable[[str], bytes]) -> None:
    files = read_archive(package("zip"), "x")
    document = json.loads(files["tilelib_three-1.0/sbom.spdx.json"])
    assert document["spdxVersion"] == "SPDX-2.3"
    names = {path.removeprefix("tilelib_three-1.0/") for path in files} - {"sbom.spdx.json", "manifest.json"}
    assert {each["fileName"].removeprefix("./") for each in document["files"]} == names
    ids = [each["SPDXID"] for kind in ("files", "packages") for each in document[kind]]
    assert len(ids) == len(set(ids))
    assert all(re.fullmatch(r"SPDXRef-[A-Za-z0-9.-]+", each) for each in ids)
    ends = {row[end] for row in document["relationships"] for end in ("spdxElementId", "relatedSpdxElement")}
    assert ends == {*ids, "SPDXRef-DOCUMENT"}
    for each in document["files"]:
        data = files["tilelib_three-1.0/" + each["fileName"].removeprefix("./")]
        sums = {row["algorithm"]: row["checksumValue"] for row in each["checksums"]}
        assert sums == {"SHA1": hashlib.sha1(data).hexdigest(), "SHA256": hashlib.sha256(data).hexdigest()}
    sha1 = sorted(row["checksums"][0]["checksumValue"] for row in document["files"])
    code = document["packages"][0]["packageVerificationCode"]["packageVerificationCodeValue"]
    assert code == hashlib.sha1("".join(sha1).encode()).hexdigest()
    assert document["packages"][0]["licenseDeclared"] == "Apache-2.0"
    assert [each["versionInfo"] for each in document["packages"][1:]] == ["nvrtc 13.5.37"]


@pytest.mark.parametrize("licence", ["", *LICENCES])
def test_another_reader_of_spdx_finds_the_bill_of_materials_valid(artifacts: list[Artifact], licence: str) -> None:
    named = {**TOOLS, "c-compiler": "cc (Debian 12.2.0-14) 12.2.0", "rustc": "rustc 1.95.0 (59807616e 2026-04-14)"}
    spec = PackageSpec("three", "1.2.3-rc.1+5", licence=licence)
    (archive,) = write_package(spec, artifacts, named).values()
    document = JsonLikeDictParser().parse(json.loads(read_archive(archive, "x")[f"{spec.root}/sbom.spdx.json"]))
    assert [message.validation_message for message in validate_full_spdx_document(document, "SPDX-2.3")] == []
    made_by = {one.spdx_element_id for one in document.relationships if one.relationship_type.name == "BUILD_TOOL_OF"}
    assert {one.name: one.version for one in document.packages if one.spdx_id in made_by} == named


def test_two_files_on_one_path_are_refused_unless_they_are_the_same(artifacts: list[Artifact]) -> None:
    same = replace(artifacts[4], origin="other/LICENSE")
    assert write_package(SPEC, [*artifacts, same], TOOLS) == write_package(SPEC, artifacts, TOOLS)
    text = refusal([*artifacts, replace(same, data=b"another\n")])
    assert "LICENSE and other/LICENSE are both to be `licenses/LICENSE` of the package, and differ" in text
    assert "hint: give one of them another file name" in text


def test_what_cannot_be_a_package_is_told(artifacts: list[Artifact]) -> None:
    assert "the package `three` holds no tile library\n  hint: give it a TileLibrary" in refusal(artifacts[2:])
    other = Artifact("lib/tilelib/sm_90/other.tilelib", artifacts[0].data, "other.tilelib")
    assert "`other` of the package `three` is not built for sm_120\n  hint: arch=sm_120" in refusal([*artifacts, other])
    broken = [replace(artifacts[0], data=b"nonsense"), *artifacts[1:]]
    assert "lib/tilelib/sm_120/three.tilelib: error: this is not a tile library" in refusal(broken)
    assert "leads out of the package" in refusal([*artifacts, Artifact("share/../../x", b"", "x")])
    assert "cannot name a package" in refusal(artifacts, PackageSpec("a b", "1.0"))
