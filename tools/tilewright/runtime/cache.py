"""Compiled shaders: the most recent ones in memory, all of them as files with a sidecar each.

A stored shader is used only when both files are there and the sidecar says exactly what is expected; anything else is
stale and compiled anew. It is never an error.
"""

from __future__ import annotations

import hashlib
import logging
import os
import tempfile
from collections import OrderedDict
from dataclasses import dataclass, field
from pathlib import Path
from typing import Generic, TypeVar

from tilewright.runtime.identity import SIDECAR_PREFIX, SIDECAR_SUFFIX, Record

LOG = logging.getLogger("tilewright.runtime")
LARGEST = 64 * 2**20
Image = TypeVar("Image")


@dataclass
class Memory(Generic[Image]):
    """What a compiler made, by source and options; the least recently used one goes first."""

    capacity: int = 64
    images: OrderedDict[tuple[object, ...], Image] = field(default_factory=OrderedDict)

    def get(self, key: tuple[object, ...]) -> Image | None:
        image = self.images.get(key)
        if image is not None:
            self.images.move_to_end(key)
        return image

    def put(self, key: tuple[object, ...], image: Image) -> None:
        self.images[key] = image
        self.images.move_to_end(key)
        while len(self.images) > self.capacity:
            self.images.popitem(last=False)


@dataclass(frozen=True)
class Store:
    """One folder of PTX files; None = nothing is kept."""

    folder: Path | None

    def load(self, name: str, expected: Record) -> bytes | None:
        """The image of that file, with one NUL at its end, if its sidecar says what is expected."""
        if self.folder is None:
            return None
        file = self.folder / name
        sidecar = file.with_name(name + SIDECAR_SUFFIX)
        try:
            if file.stat().st_size > LARGEST:
                return None
            image, text = file.read_bytes(), sidecar.read_text(encoding="utf-8")
        except FileNotFoundError:
            return None
        except (OSError, UnicodeDecodeError) as error:
            LOG.warning("stale shader %s: %s", name, error)
            return None
        if not image or not text.startswith(SIDECAR_PREFIX) or text != sidecar_text(expected, image):
            LOG.warning("stale shader %s: its sidecar does not match; it is compiled anew", name)
            return None
        return image.rstrip(b"\0") + b"\0"

    def save(self, name: str, record: Record, image: bytes) -> None:
        """Writes the image, then its sidecar, each whole; a folder that cannot be written is a warning."""
        if self.folder is None:
            return
        stored = image.rstrip(b"\0")
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            written_whole(self.folder / name, stored)
            written_whole(self.folder / (name + SIDECAR_SUFFIX), sidecar_text(record, stored).encode())
        except OSError as error:
            LOG.warning("the shader %s is not kept: %s", name, error)


def sidecar_text(record: Record, image: bytes) -> str:
    """The record, and on a line below it the hash of the image, so that a pair of which one is newer is stale."""
    digest = hashlib.sha256(image.rstrip(b"\0")).hexdigest()
    return f"{record.text()}// IMAGE: {digest}\n"


def written_whole(file: Path, data: bytes) -> None:
    """The file with that content, by a rename in its folder."""
    handle, temporary = tempfile.mkstemp(dir=file.parent, prefix=f".{file.name}.")
    try:
        with os.fdopen(handle, "wb") as stream:
            stream.write(data)
        os.replace(temporary, file)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise
