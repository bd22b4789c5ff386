"""The cache of compiled shaders and the attempts when a driver refuses an image. Real NVRTC, emulated driver."""

from __future__ import annotations

import json
import logging
from dataclasses import replace
from pathlib import Path

import pytest

from runtime.emulated import EmulatedDriver
from tileir import kernels
from tilewright.lowering.artifact import Format
from tilewright.lowering.cuda.lower import lower
from tilewright.runtime import compile
from tilewright.runtime.cache import Memory, Store
from tilewright.runtime.cuda_device import CudaDevice
from tilewright.runtime.errors import ShaderError
from tilewright.runtime.identity import ABI, SIDECAR_SUFFIX, file_name, identity, record
from tilewright.runtime.loading import OLD_DRIVER_KNOB, Loader


@pytest.fixture
def said(caplog):
    """What the runtime logged since the last call."""
    caplog.set_level(logging.DEBUG, "tilewright.runtime")

    def taken() -> str:
        text = " | ".join(caplog.messages)
        caplog.clear()
        return text

    return taken


@pytest.fixture
def device(toolkit, tmp_path):
    """A maker of devices that share one folder."""

    def make(driver: EmulatedDriver | None = None, environ: dict[str, str] | None = None, **more) -> CudaDevice:
        options = {"cache": tmp_path / "cache", "user_store": tmp_path / "named"} | more
        nvrtc = str(toolkit.require("nvrtc").path)
        return CudaDevice(driver or EmulatedDriver(), nvrtc=nvrtc, environ=environ or {}, **options)

    return make


def stored(folder: Path) -> tuple[Path, Path]:
    (image,) = folder.glob("*.ptx")
    return image, image.with_name(image.name + SIDECAR_SUFFIX)


def test_cold_then_memory_then_disk(device, said, tmp_path):
    first = device()
    assert compile(first, kernels.axpb())
    assert "compiled for sm_90" in said()
    assert compile(first, kernels.axpb())
    assert said() == "tile_axpb: from memory"
    assert compile(device(), kernels.axpb())
    assert said() == f"tile_axpb: from {stored(tmp_path / 'cache')[0].name}"


def test_files_are_named_and_headed_as_specified(device, tmp_path):
    assert compile(device(), kernels.axpb())
    image, sidecar = stored(tmp_path / "cache")
    artifact = lower(kernels.axpb())
    assert image.name == f"kernel_{identity(artifact)}.tile.ptx" == file_name(artifact)
    assert len(identity(artifact)) == 16
    head, body = sidecar.read_text().split(" ", 2)[:2], sidecar.read_text()
    assert head == ["//", "METADATA:"]
    said, rest = body.removeprefix("// METADATA: ").split("\n\n")
    assert rest.startswith("// IMAGE: ")
    found = json.loads(said)
    assert found["kind"] == "TILE"
    assert found["arch"] == "sm_90"
    assert found["nvrtc_version"] == "13.5"
    assert found["arguments"] == [["f32", "read"], ["f32", "write"]]
    assert found["block"] == [256, 1, 1]
    assert not image.read_bytes().endswith(b"\0")
    assert sorted(file.name for file in (tmp_path / "cache").iterdir()) == sorted([image.name, sidecar.name])


def rewrite(file: Path, old: str, new: str) -> None:
    text = file.read_text()
    assert old in text
    file.write_text(text.replace(old, new))


@pytest.mark.parametrize(
    "damage",
    [
        lambda image, sidecar: rewrite(sidecar, '"TILE"', '"RASTER"'),
        lambda image, sidecar: rewrite(sidecar, "// METADATA: ", "// METADATA "),
        lambda image, sidecar: rewrite(sidecar, '"nvrtc_version": "13.5"', '"nvrtc_version": "13.4"'),
        lambda image, sidecar: rewrite(sidecar, '"f32", "write"', '"f32", "read"'),
        lambda image, sidecar: sidecar.write_text(""),
        lambda image, sidecar: sidecar.write_bytes(b"\xff\xfe"),
        lambda image, sidecar: sidecar.unlink(),
        lambda image, sidecar: image.write_bytes(b""),
        lambda image, sidecar: image.write_bytes(image.read_bytes()[:100]),
        lambda image, sidecar: image.unlink(),
        lambda image, sidecar: (image.unlink(), image.mkdir()),
    ],
    ids=["kind", "prefix", "nvrtc", "usage", "empty", "not-text", "no-sidecar", "no-image", "torn", "gone", "folder"],
)
def test_anything_that_does_not_match_is_stale_and_compiled_anew(damage, device, said, tmp_path):
    assert compile(device(), kernels.axpb())
    damage(*stored(tmp_path / "cache"))
    said()
    assert compile(device(), kernels.axpb())
    assert "compiled for sm_90" in said()


def test_another_architecture_in_the_same_folder_is_stale(device, said):
    assert compile(device(), kernels.axpb())
    said()
    assert compile(device(EmulatedDriver(architecture="sm_120")), kernels.axpb())
    text = said()
    assert "stale" in text
    assert "compiled for sm_120" in text


def test_a_folder_that_cannot_be_written_is_a_warning(device, said, tmp_path):
    (tmp_path / "file").write_text("")
    assert compile(device(cache=tmp_path / "file" / "below"), kernels.axpb())
    assert "is not kept" in said()


def test_without_a_folder_nothing_is_written(device, tmp_path):
    assert compile(device(cache=None), kernels.axpb())
    assert not (tmp_path / "cache").exists()


def test_an_old_driver_gets_a_patched_image_which_is_kept(device, said, tmp_path):
    old = EmulatedDriver(newest_ptx=(9, 0))
    assert compile(device(old), kernels.axpb())
    assert "the driver refuses PTX 9.5; patched to 9.0" in said()
    assert [b".version 9.5" in image for image in old.loads] == [True, False]
    assert b".version 9.0" in stored(tmp_path / "cache")[0].read_bytes()
    again = EmulatedDriver(newest_ptx=(9, 0))
    assert compile(device(again), kernels.axpb())
    assert said().startswith("tile_axpb: from kernel_")
    assert len(again.loads) == 1, "the second cold process does not patch"


def test_the_knob_simulates_an_old_driver(device, said):
    driver = EmulatedDriver()
    assert compile(device(driver, {OLD_DRIVER_KNOB: "1"}), kernels.axpb())
    assert "patched to 9.0" in said()
    assert len(driver.loads) == 1
    assert b".version 9.0" in driver.loads[0]
    assert compile(device(driver, {OLD_DRIVER_KNOB: "0"}), kernels.axpb())
    assert "patched" not in said()


def test_a_malformed_knob_is_named(device):
    """B31."""
    shader = compile(device(environ={OLD_DRIVER_KNOB: "yes"}), kernels.axpb())
    assert not shader
    assert f"{OLD_DRIVER_KNOB}=yes is neither 0 nor 1" in shader.metadata.error


def test_an_image_that_does_not_load_is_compiled_once_for_the_fallback(device, said, tmp_path):
    """B143."""
    driver = EmulatedDriver(architecture="sm_120", refused_targets=frozenset({"sm_120"}))
    assert compile(device(driver), kernels.axpb())
    assert "CUDA_ERROR_NO_BINARY_FOR_GPU; one retry at compute_75" in said()
    assert b".target sm_75" in stored(tmp_path / "cache")[0].read_bytes()
    assert compile(device(driver), kernels.axpb())
    assert "compiled" not in said()


def test_the_fallback_is_patched_as_well(device, said):
    driver = EmulatedDriver(newest_ptx=(9, 0), refused_targets=frozenset({"sm_90"}))
    assert compile(device(driver), kernels.axpb())
    assert said().count("patched to 9.0") == 2


def test_when_the_fallback_fails_too_the_drivers_word_is_the_error(device):
    """B143."""
    driver = EmulatedDriver(refused_targets=frozenset({"sm_90", "sm_75"}))
    shader = compile(device(driver), kernels.axpb())
    assert not shader
    assert "cannot load the kernel on emulated (sm_90): CUDA_ERROR_NO_BINARY_FOR_GPU" in shader.metadata.error
    assert ".target sm_75" in shader.metadata.error
    assert shader.metadata.source == ""
    assert len(driver.loads) == 2


def test_final_ptx_is_patched_but_never_compiled_again(device):
    """B142."""
    source = lower(kernels.axpb())
    text = ".version 9.5\n.target sm_120\n.visible .entry tile_axpb() { ret; }\n"
    final = replace(source, format=Format.PTX, source=text)
    Loader(device(EmulatedDriver(newest_ptx=(9, 0))), final, None, {}).load()
    driver = EmulatedDriver(refused_targets=frozenset({"sm_120"}))
    with pytest.raises(ShaderError, match=r"CUDA_ERROR_NO_BINARY_FOR_GPU") as caught:
        Loader(device(driver), final, None, {}).load()
    assert ".target sm_120" in str(caught.value)
    assert "through the cuda source target" in str(caught.value)
    assert len(driver.loads) == 1


def test_another_format_is_refused(device):
    """B145."""
    artifact = replace(lower(kernels.axpb()), format=Format.METAL_SOURCE)
    with pytest.raises(ShaderError, match="Unsupported artifact format 'metal'"):
        Loader(device(), artifact, None, {}).load()


def test_a_source_that_does_not_compile_is_a_falsy_shader_with_the_log(device):
    """B144."""
    artifact = replace(lower(kernels.axpb()), source="not a kernel")
    with pytest.raises(ShaderError, match="gave no PTX") as caught:
        Loader(device(), artifact, None, {}).load()
    assert "error" in caught.value.problems[0].detail


def test_a_stable_name_is_a_file_of_the_user_store(device, tmp_path):
    assert compile(device(), kernels.axpb(), name="mine")
    assert compile(device(), kernels.softmax(), name="other.ptx")
    names = sorted(file.name for file in (tmp_path / "named").iterdir())
    assert names == ["mine.ptx", "mine.ptx.metadata", "other.ptx", "other.ptx.metadata"]
    assert not (tmp_path / "cache").exists()
    shader = compile(device(), kernels.axpb(), name="../mine")
    assert not shader
    assert "'../mine' is no file name for a shader" in shader.metadata.error


def test_a_stable_name_is_stored_although_the_kernel_was_compiled_without_one(device, tmp_path):
    one = device()
    assert compile(one, kernels.axpb())
    assert compile(one, kernels.axpb(), name="mine")
    assert (tmp_path / "named" / "mine.ptx").is_file()
    assert compile(one, kernels.axpb(), name="yours")
    assert (tmp_path / "named" / "yours.ptx").is_file()


def test_the_identity_has_every_part_and_nothing_of_the_machine():
    artifact = lower(kernels.axpb())
    others = [
        replace(artifact, source=artifact.source + " "),
        replace(artifact, entry="tile_other"),
        replace(artifact, fast_math=True),
        replace(artifact, fmad=False),
        replace(artifact, block=(128, 1, 1)),
        replace(artifact, grid=(9, 1, 1)),
    ]
    assert len({identity(each) for each in (artifact, *others)}) == 7
    assert record(artifact, "sm_90", "13.5") != record(artifact, "sm_120", "13.5")
    assert ABI == "cuda-tile-direct-buffers-v1"


def test_the_least_recently_used_image_leaves_memory_first():
    memory = Memory(capacity=2)
    memory.put(("a",), b"1")
    memory.put(("b",), b"2")
    assert memory.get(("a",)) == b"1"
    memory.put(("c",), b"3")
    assert memory.get(("b",)) is None
    assert memory.get(("a",)) == b"1"


def test_the_registers_of_a_sidecar_fit_a_byte():
    assert record(replace(lower(kernels.axpb()), max_registers=300), "sm_90", "13.5").max_registers == 255


def test_an_image_is_written_before_its_sidecar(tmp_path, monkeypatch):
    written = []
    monkeypatch.setattr("tilewright.runtime.cache.written_whole", lambda file, data: written.append(file.name))
    Store(tmp_path).save("a.ptx", record(lower(kernels.axpb()), "sm_90", "13.5"), b"ptx\0")
    assert written == ["a.ptx", "a.ptx.metadata"]
