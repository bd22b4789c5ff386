"""The edit of the PTX version is a pure function of text."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tilewright.runtime.ptx_version import (
    patch_ptx_version,
    patch_ptx_version_bytes,
    target_directive,
    version_directive,
)


@pytest.mark.parametrize(
    ("text", "patched"),
    [
        (".version 9.5\n.target sm_90", ".version 9.0\n.target sm_90"),
        (".version 9.5\r\n.target sm_90\r\n", ".version 9.0\r\n.target sm_90\r\n"),
        ("// .x\n.version\t 12.34 \n", "// .x\n.version\t 12.0 \n"),
        (".version 9.5.1\n", ".version 9.0\n"),
        (".version 9.0\n", ".version 9.0\n"),
        (".version 9.5\n.version 8.4\n", ".version 9.0\n.version 8.4\n"),
    ],
)
def test_the_minor_of_the_first_version_becomes_0(text, patched):
    assert patch_ptx_version(text) == (patched, "")


@pytest.mark.parametrize(
    "text", [".version 8", ".version 8.", ".version", ".version .5", ".version x", ".version \n8.1"]
)
def test_a_malformed_version_is_left_alone_with_a_warning(text):
    patched, warning = patch_ptx_version(text)
    assert patched == text
    assert "malformed" in warning


def test_text_without_a_version_is_left_alone_with_a_warning():
    assert patch_ptx_version(".target sm_90\n") == (".target sm_90\n", "the PTX has no .version directive")


@pytest.mark.parametrize("data", [b".version 9.5\n", b".version 9.5\n\0"])
def test_bytes_end_in_exactly_one_nul(data):
    assert patch_ptx_version_bytes(data) == (b".version 9.0\n\0", "")


@given(st.text(max_size=20), st.integers(1, 999), st.integers(0, 999), st.text(max_size=20))
def test_the_edit_is_idempotent_never_longer_and_local(before, major, minor, after):
    before, after = before.replace(".version", ""), "\n" + after
    text = f"{before}.version {major}.{minor}{after}"
    patched, _ = patch_ptx_version(text)
    assert patch_ptx_version(patched)[0] == patched
    assert len(patched) <= len(text)
    assert patched == f"{before}.version {major}.0{after}"


@given(st.binary(max_size=60))
def test_any_bytes_survive(data):
    patched, _ = patch_ptx_version_bytes(data + b"\n.version 9.5\n")
    assert patched.endswith(b"\0")
    assert len(patched) == len(data) + len(b"\n.version 9.5\n") + 1


def test_directives_are_quoted_for_messages():
    assert target_directive(b".version 9.5\n.target sm_120, debug\n") == ".target sm_120, debug"
    assert version_directive(b".version 9.5\n") == "9.5"
    assert target_directive(b"") == version_directive(b"") == ""
