"""From an artifact to a kernel in the driver: memory, disk, compiler, and the attempts when a driver refuses an image.

Each step that was taken is said in the log `tilewright.runtime`.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tilewright.lowering.artifact import DeviceArtifact, Format
from tilewright.problem import Problem
from tilewright.runtime.cache import Store
from tilewright.runtime.driver import UNSUPPORTED_PTX, LoadedKernel
from tilewright.runtime.errors import ShaderError, refusal
from tilewright.runtime.identity import Record, file_name, record, user_file_name
from tilewright.runtime.nvrtc import Nvrtc, artifact_options, compile_ptx, target
from tilewright.runtime.ptx_version import patch_ptx_version_bytes, target_directive, version_directive

if TYPE_CHECKING:
    from tilewright.runtime.cuda_device import CudaDevice

LOG = logging.getLogger("tilewright.runtime")
OLD_DRIVER_KNOB = "TILEWRIGHT_FORCE_UNSUPPORTED_PTX"


def old_driver_forced(environ: Mapping[str, str]) -> bool:
    """Test knob: the first probe of each load is reported as an unsupported PTX version. B31 for any other word."""
    word = environ.get(OLD_DRIVER_KNOB, "")
    if word not in ("", "0", "1"):
        raise refusal(f"{OLD_DRIVER_KNOB}={word} is neither 0 nor 1", "malformed-knob", f"{OLD_DRIVER_KNOB}=1")
    return word == "1"


@dataclass
class Place:
    """Where an image is kept: store, file, what its sidecar has to say, and its key in memory."""

    store: Store
    name: str
    expected: Record
    key: tuple[object, ...]


class Loader:
    """One load of one artifact on one device."""

    def __init__(
        self, device: CudaDevice, artifact: DeviceArtifact, name: str | None, environ: Mapping[str, str]
    ) -> None:
        self.device = device
        self.artifact = artifact
        self.name = name
        self._forced = old_driver_forced(environ)

    def load(self) -> LoadedKernel:
        """The kernel; ShaderError with what the driver or the compiler said (B142 to B145)."""
        if self.artifact.format is Format.PTX:
            return self._final(self.artifact.source.encode() + b"\0")
        if self.artifact.format is not Format.CUDA_SOURCE:
            raise refusal(f"Unsupported artifact format {self.artifact.format.value!r}", "artifact-format")
        architecture = self.device.architecture
        place = self._place(architecture)
        image = self._image(place, architecture)
        kernel = self._attempt(place, image)
        if isinstance(kernel, LoadedKernel):
            return kernel
        fallback = self.device.nvrtc.fallback
        if fallback == target(architecture):
            raise self._refused(kernel, image)
        LOG.warning("%s: %s; one retry at %s", self.artifact.entry, kernel, fallback)
        image = self._compiled(fallback)
        again = self._attempt(place, image, save=True)
        if isinstance(again, LoadedKernel):
            return again
        raise self._refused(again, image)

    def _place(self, architecture: str) -> Place:
        nvrtc = self.device.nvrtc.version_text
        artifact = self.artifact
        store = self.device.cache if self.name is None else self.device.user_store
        file = file_name(artifact) if self.name is None else user_file_name(self.name)
        key = (self.name, artifact.source, artifact.entry, artifact_options(artifact, architecture), nvrtc)
        return Place(store, file, record(artifact, architecture, nvrtc), key)

    def _image(self, place: Place, architecture: str) -> bytes:
        """From memory, from disk, or compiled and then kept in both."""
        image = self.device.memory.get(place.key)
        if image is not None:
            LOG.debug("%s: from memory", self.artifact.entry)
            return image
        image = place.store.load(place.name, place.expected)
        if image is not None:
            LOG.debug("%s: from %s", self.artifact.entry, place.name)
            self.device.memory.put(place.key, image)
            return image
        image = self._compiled(architecture)
        self._keep(place, image)
        return image

    def _compiled(self, architecture: str) -> bytes:
        nvrtc: Nvrtc = self.device.nvrtc
        LOG.info("%s: compiled for %s by NVRTC %s", self.artifact.entry, architecture, nvrtc.version_text)
        options = artifact_options(self.artifact, architecture)
        return compile_ptx(self.artifact.source, options, nvrtc=nvrtc.path, name=f"{self.artifact.entry}.cu")

    def _keep(self, place: Place, image: bytes) -> None:
        self.device.memory.put(place.key, image)
        place.store.save(place.name, place.expected, image)

    def _attempt(self, place: Place | None, image: bytes, *, save: bool = False) -> LoadedKernel | str:
        """Loads the image; a version the driver does not know is patched, and the patched image kept."""
        kernel = self._probe(image)
        if kernel == UNSUPPORTED_PTX:
            patched, warning = patch_ptx_version_bytes(image)
            if warning:
                LOG.warning("%s: %s", self.artifact.entry, warning)
            old, new = version_directive(image), version_directive(patched)
            LOG.info("%s: the driver refuses PTX %s; patched to %s", self.artifact.entry, old, new)
            save = save or patched != image
            kernel, image = self._probe(patched), patched
        if place is not None and save and isinstance(kernel, LoadedKernel):
            self._keep(place, image)
        return kernel

    def _probe(self, image: bytes) -> LoadedKernel | str:
        if self._forced:
            self._forced = False
            return UNSUPPORTED_PTX
        return self.device.driver.load(image, self.artifact.entry)

    def _final(self, image: bytes) -> LoadedKernel:
        """PTX that nothing can be compiled from: a version patch is all there is."""
        kernel = self._attempt(None, image)
        if isinstance(kernel, LoadedKernel):
            return kernel
        what = f"`{self.artifact.entry}`: the driver cannot load the PTX: {kernel}"
        hint = "compile it through the cuda source target, which is compiled for the device at hand"
        raise ShaderError([Problem(what, hint=hint, rule="ptx-not-loaded", detail=target_directive(image))])

    def _refused(self, error: str, image: bytes) -> ShaderError:
        what = (
            f"`{self.artifact.entry}`: the driver cannot load the kernel on {self.device.name} "
            f"({self.device.architecture}): {error}"
        )
        detail = f".version {version_directive(image)}\n{target_directive(image)}"
        return ShaderError([Problem(what, rule="kernel-not-loaded", detail=detail)])
