"""What a file system refuses has one wording, with the file that the error names or the one that was to be written."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from tilewright.library.refusals import refused


def failure(number: int, file: str | None = None) -> OSError:
    return OSError(number, os.strerror(number), file)


@pytest.mark.parametrize(
    ("number", "said"),
    [
        (errno.ENOSPC, "no space is left on the disk\n  hint: free some space for `/gone` and build again"),
        (errno.EDQUOT, "no space is left on the disk\n  hint: free some space for `/gone` and build again"),
        (errno.EROFS, "`/gone` is on a read-only file system\n  hint: write to another folder"),
        (errno.EACCES, "permission denied\n  hint: make `/gone` writable, or write to another folder"),
        (errno.ENOTDIR, "a file stands where a folder is needed\n  hint: move the file away"),
        (errno.EISDIR, "a folder of that name is there\n  hint: move the folder `/gone/x` away"),
        (errno.ENAMETOOLONG, "File name too long\n  hint: choose another name or folder"),
    ],
)
def test_the_reason_stands_behind_the_file_that_the_error_names(number: int, said: str) -> None:
    assert str(refused(failure(number, "/gone/x"))) == f"error: `/gone/x`: {said}"


def test_what_failed_and_another_file_can_be_told() -> None:
    told = refused(failure(errno.EROFS, "/gone/x.stage"), doing="cannot write", target=Path("/gone/x"))
    assert told.what == "cannot write `/gone/x`: `/gone` is on a read-only file system"


def test_an_error_that_names_no_file_says_the_reason_alone() -> None:
    assert str(refused(failure(errno.ENOSPC))) == (
        "error: no space is left on the disk\n  hint: free some space for the folder and build again"
    )
    assert refused(OSError("odd")).what == "odd"


def test_a_file_on_the_way_is_named(tmp_path: Path) -> None:
    (tmp_path / "build").touch()
    with pytest.raises(OSError, match="Not a directory") as caught:
        (tmp_path / "build/x").touch()
    assert refused(caught.value).hint == f"move `{tmp_path}/build` away, or write to another folder"
