"""Files appear whole and together, or not at all."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tilewright.library.errors import LibraryError
from tilewright.library.publish import publish


def tree(folder: Path) -> dict[str, bytes | None]:
    """Every path below a folder; None for a folder."""
    paths = folder.rglob("*")
    return {str(path.relative_to(folder)): None if path.is_dir() else path.read_bytes() for path in paths}


def test_all_files_are_written_into_new_folders(tmp_path: Path) -> None:
    publish({tmp_path / "a/b/x": b"1", tmp_path / "a/y": b"2", tmp_path / "c/z": b""})
    assert tree(tmp_path) == {"a": None, "a/b": None, "a/b/x": b"1", "a/y": b"2", "c": None, "c/z": b""}


def test_old_files_are_replaced_and_keep_the_usual_mode(tmp_path: Path) -> None:
    (tmp_path / "x").write_bytes(b"old")
    (tmp_path / "x").chmod(0o600)
    publish({tmp_path / "x": b"new"})
    umask = os.umask(0)
    os.umask(umask)
    assert tree(tmp_path) == {"x": b"new"}
    assert (tmp_path / "x").stat().st_mode & 0o777 == 0o666 & ~umask


def test_a_target_with_the_longest_possible_name_is_written(tmp_path: Path) -> None:
    publish({tmp_path / ("n" * 255): b"1"})
    assert (tmp_path / ("n" * 255)).read_bytes() == b"1"


def test_a_file_where_a_folder_should_be_is_named_and_nothing_changes(tmp_path: Path) -> None:
    (tmp_path / "build").write_bytes(b"mine")
    before = tree(tmp_path)
    with pytest.raises(LibraryError) as caught:
        publish({tmp_path / "first/x": b"1", tmp_path / "build/sm_90/x": b"2"})
    assert str(caught.value) == (
        f"error: cannot write `{tmp_path}/build/sm_90/x`: `{tmp_path}/build` is a file, and a folder is needed there\n"
        f"  hint: move `{tmp_path}/build` away, or write to another folder"
    )
    assert tree(tmp_path) == before


def test_a_pipe_or_device_is_never_replaced_and_nothing_changes(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with pytest.raises(LibraryError) as caught:
        publish({tmp_path / "first/x": b"1", pipe: b"2"})
    assert str(caught.value) == (
        f"error: cannot write `{pipe}`: it is a device, a pipe or a socket, which a rename would replace\n"
        "  hint: write to a file in a folder of your own"
    )
    assert pipe.is_fifo()
    assert os.listdir(tmp_path) == ["pipe"]


def test_a_link_to_an_open_file_of_the_process_is_never_replaced(tmp_path: Path) -> None:
    (tmp_path / "stdout").symlink_to("/proc/self/cmdline")
    with pytest.raises(LibraryError, match="it is a device, a pipe or a socket"):
        publish({tmp_path / "stdout": b"1"})
    assert os.readlink(tmp_path / "stdout") == "/proc/self/cmdline"


def test_a_dangling_link_where_a_folder_should_be_is_named(tmp_path: Path) -> None:
    (tmp_path / "build").symlink_to("nowhere")
    with pytest.raises(LibraryError, match="is a file, and a folder is needed there"):
        publish({tmp_path / "build/x": b"1"})


def test_a_folder_where_a_file_should_be_is_named_and_nothing_changes(tmp_path: Path) -> None:
    (tmp_path / "x").mkdir()
    before = tree(tmp_path)
    with pytest.raises(LibraryError, match=r"cannot write `.*/x`: a folder of that name is there"):
        publish({tmp_path / "new/y": b"1", tmp_path / "x": b"2"})
    assert tree(tmp_path) == before


def test_a_name_that_the_file_system_refuses_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(LibraryError, match=r"cannot write `.*`: File name too long"):
        publish({tmp_path / ("n" * 256): b"1"})
    assert tree(tmp_path) == {}


def test_an_interrupt_leaves_the_tree_as_it_was(tmp_path: Path) -> None:
    class Interrupting(dict[Path, bytes]):
        def items(self) -> Iterator[tuple[Path, bytes]]:  # type: ignore[override]
            yield tmp_path / "a/x", b"1"
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        publish(Interrupting())
    assert tree(tmp_path) == {}


def test_a_failing_rename_takes_back_the_earlier_ones(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rename = Path.replace

    def refuse_second(self: Path, target: Path) -> Path:
        if target.name == "second":
            raise PermissionError(1, "Operation not permitted")
        return rename(self, target)

    monkeypatch.setattr(Path, "replace", refuse_second)
    with pytest.raises(LibraryError, match=r"cannot write `.*/second`: permission denied"):
        publish({tmp_path / "first": b"1", tmp_path / "second": b"2"})
    assert tree(tmp_path) == {}


@pytest.fixture
def tiny_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 64 KiB."""
    folder = tmp_path / "disk"
    folder.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64k", "none", folder], capture_output=True)
    if mounted.returncode:
        pytest.skip("mounting a tmpfs is not permitted here")
    yield folder
    subprocess.run(["umount", folder], check=True)


def test_a_full_disk_leaves_the_old_files_and_no_stage(tiny_disk: Path) -> None:
    publish({tiny_disk / "out/a": b"old", tiny_disk / "out/b": b"old"})
    before = tree(tiny_disk)
    with pytest.raises(LibraryError) as caught:
        publish({tiny_disk / "out/a": b"new", tiny_disk / "more/c": b"new", tiny_disk / "out/b": bytes(1 << 20)})
    assert str(caught.value) == (
        f"error: cannot write `{tiny_disk}/out/b`: no space is left on the disk\n"
        f"  hint: free some space for `{tiny_disk}/out` and build again"
    )
    assert tree(tiny_disk) == before


def test_a_read_only_file_system_is_named(tiny_disk: Path) -> None:
    if subprocess.run(["mount", "-o", "remount,ro", tiny_disk], capture_output=True).returncode:
        pytest.skip("remounting is not permitted here")
    with pytest.raises(LibraryError, match=r"cannot write `.*/x`: `.*/disk` is on a read-only file system"):
        publish({tiny_disk / "x": b"1"})
