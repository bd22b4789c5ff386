"""The identity string of LTOIR: compilers and our own sources, no path."""

from __future__ import annotations

import dataclasses
import re
from pathlib import Path

from tilewright.device.identity import ltoir_identity
from tilewright.toolchain.toolkit import Component, Toolkit


def newer(toolkit: Toolkit, name: str) -> Toolkit:
    part = toolkit.require(name)
    return dataclasses.replace(toolkit, **{name: Component(name, part.path, "99.9.9", part.origin)})


def moved(toolkit: Toolkit) -> Toolkit:
    parts = {
        name: dataclasses.replace(toolkit.require(name), path=Path("/elsewhere") / name)
        for name in ("nvrtc", "nvvm", "libdevice", "nvjitlink")
    }
    return dataclasses.replace(toolkit, root=Path("/elsewhere"), **parts)


def test_identities_name_the_compilers_of_their_language(toolkit: Toolkit) -> None:
    digest = r"device [0-9a-f]{64}"
    versions = {name: re.escape(toolkit.identity(name)) for name in ("nvrtc", "nvvm", "libdevice")}
    assert re.fullmatch(f"{versions['nvrtc']}; {digest}", ltoir_identity(toolkit, "cuda"))
    assert re.fullmatch(f"{versions['nvvm']}; {versions['libdevice']}; {digest}", ltoir_identity(toolkit, "nvvm"))


def test_only_a_compiler_of_the_language_changes_the_identity(toolkit: Toolkit) -> None:
    assert ltoir_identity(newer(toolkit, "nvrtc"), "cuda") != ltoir_identity(toolkit, "cuda")
    assert ltoir_identity(newer(toolkit, "nvrtc"), "nvvm") == ltoir_identity(toolkit, "nvvm")
    assert ltoir_identity(newer(toolkit, "nvvm"), "nvvm") != ltoir_identity(toolkit, "nvvm")
    assert ltoir_identity(newer(toolkit, "libdevice"), "nvvm") != ltoir_identity(toolkit, "nvvm")
    for name in ("nvjitlink", "ptxas", "nvcc"):
        for language in ("cuda", "nvvm"):
            assert ltoir_identity(newer(toolkit, name), language) == ltoir_identity(toolkit, language)  # type: ignore[arg-type]


def test_the_same_toolkit_elsewhere_has_the_same_identity(toolkit: Toolkit) -> None:
    assert ltoir_identity(moved(toolkit), "cuda") == ltoir_identity(toolkit, "cuda")
