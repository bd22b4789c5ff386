"""The cache folder: nothing rotten comes out of it, what was used lately stays, and many may use it at once."""

from __future__ import annotations

import os
import random
import subprocess
import sys
import time
from pathlib import Path

import pytest

from cache.conftest import key, outputs, writing_refused
from tilewright.cache import local
from tilewright.cache.action_result import Output
from tilewright.cache.local import Contents, LocalStore
from tilewright.cli import main

TOOLS = Path(__file__).parents[2] / "tools"


def put(store: LocalStore, name: str, used: float, **contents: bytes) -> None:
    store.store(key(name), *outputs(**contents))
    store.record_uses({key(name): used})


def test_what_is_stored_is_found(store: LocalStore) -> None:
    entry, blobs = outputs(a=b"one", b=b"two")
    assert store.entry(key("x")) is None
    store.store(key("x"), entry, blobs)
    assert store.entry(key("x")) == entry
    assert [store.blob(output) for output in entry.outputs] == [b"one", b"two"]
    assert store.contents() == Contents(1, 2, 6)


def test_rotten_bytes_are_removed_not_returned(store: LocalStore) -> None:
    entry, blobs = outputs(a=b"one", b=b"two")
    store.store(key("x"), entry, blobs)
    (blob,) = (path for path in (store.folder / "cas").rglob("*") if path.is_file() and path.read_bytes() == b"one")
    for damage in (b"One", b"on", b""):
        blob.write_bytes(damage)
        assert store.blob(entry.outputs[0]) is None
        assert not blob.exists()
        store.store(key("x"), entry, blobs)
        assert store.blob(entry.outputs[0]) == b"one"
    (path,) = (path for path in (store.folder / "ac").rglob("*") if path.is_file())
    path.write_bytes(b"<html>")
    assert store.entry(key("x")) is None
    assert not path.exists()


def test_eviction_goes_by_recorded_use_not_by_the_time_of_files(store: LocalStore) -> None:
    for number in range(4):
        put(store, str(number), used=1000.0 - number, a=bytes([number]) * 100)
    for path in store.folder.rglob("*"):
        if path.is_file():
            os.utime(path, (chance := random.Random(path.name).randrange(10**9), chance))
    assert store.trim(250) == Contents(2, 2, 200)
    assert [store.entry(key(str(number))) is not None for number in range(4)] == [True, True, False, False]
    assert store.trim(250) == Contents(0, 0, 0)


def test_uses_within_one_second_are_told_apart_and_broken_notes_do_no_harm(store: LocalStore) -> None:
    for number, name in enumerate(("second", "first", "third")):
        put(store, name, used=1000.0 + {"first": 0.1, "second": 0.2, "third": 0.3}[name], a=bytes([number]) * 100)
    (store.folder / "uses/broken").write_bytes(b"\xff\n\nnonsense\n12\nnan x\n")
    store.trim(200)
    assert [store.entry(key(name)) is not None for name in ("first", "second", "third")] == [False, True, True]


def test_an_entry_whose_use_nobody_noted_goes_first(store: LocalStore) -> None:
    put(store, "noted", used=1.0, a=b"x" * 100)
    store.store(key("unnoted"), *outputs(a=b"y" * 100))
    store.trim(100)
    assert store.entry(key("noted")) is not None
    assert store.entry(key("unnoted")) is None


def test_an_output_of_two_entries_stays_while_one_of_them_does(store: LocalStore) -> None:
    put(store, "old", used=1.0, a=b"shared", b=b"o" * 100)
    put(store, "new", used=2.0, a=b"shared", b=b"n" * 100)
    store.trim(150)
    entry = store.entry(key("new"))
    assert entry is not None
    assert [store.blob(output) for output in entry.outputs] == [b"shared", b"n" * 100]
    assert store.entry(key("old")) is None


def test_what_a_killed_build_left_is_swept_when_it_is_old(store: LocalStore) -> None:
    store.store(key("x"), *outputs(a=b"one"))
    orphan, staged = store.folder / "cas/ab/ab12", store.folder / "tmp/12"
    for old in (False, True):
        for path in (orphan, staged):
            path.parent.mkdir(exist_ok=True)
            path.write_bytes(b"half")
            if old:
                os.utime(path, (time.time() - local.STALE_SECONDS - 5,) * 2)
        store.trim(1 << 30)
        assert orphan.exists() == staged.exists() == (not old)
    assert store.entry(key("x")) is not None


def test_journals_are_merged_without_forgetting(store: LocalStore, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(local, "JOURNALS", 3)
    for number in range(6):
        put(store, str(number), used=100.0 + number, a=bytes([number]) * 10)
    store.trim(1000)
    assert len(list((store.folder / "uses").iterdir())) == 1
    store.trim(30)
    assert [store.entry(key(str(number))) is not None for number in range(6)] == [False] * 3 + [True] * 3


def test_verification_finds_and_removes_what_is_rotten(
    store: LocalStore, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("x", "y", "z"):
        store.store(key(name), *outputs(**{name: name.encode() * 9}))
    command = ["--folder", str(tmp_path / "cache")]
    assert main(["cache", "verify", *command]) == 0
    assert capsys.readouterr().out == f"{tmp_path}/cache: 3 entries, 3 outputs, 27 bytes\n"
    store._path("ac", key("x")).write_bytes(b"\xff")
    entry = store.entry(key("y"))
    assert entry is not None
    digest = entry.outputs[0].sha256
    store._path("cas", digest).write_bytes(b"yyyyyyyyz")
    assert main(["cache", "verify", *command]) == 1
    said = capsys.readouterr().out
    assert f"removed: the output {digest} was rotten\n" in said
    assert f"removed: the entry {key('x')} was rotten\n" in said
    assert f"removed: the entry {key('y')} had lost y\n" in said
    assert said.endswith("1 entries, 2 outputs, 18 bytes\n")
    assert main(["cache", "verify", *command]) == 0


def test_the_command_trims_and_tells_what_is_wrong_with_its_words(
    store: LocalStore, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    put(store, "x", used=1.0, a=b"x" * 2000)
    put(store, "y", used=2.0, a=b"y" * 2000)
    folder = ["--folder", str(tmp_path / "cache")]
    assert main(["cache", "trim", *folder, "--size", "3k"]) == 0
    assert capsys.readouterr().out == (
        f"removed: 1 entries, 1 outputs, 2000 bytes\n{tmp_path}/cache: 1 entries, 1 outputs, 2000 bytes\n"
    )
    assert main(["cache", "stat", *folder]) == 0
    assert capsys.readouterr().out == f"{tmp_path}/cache: 1 entries, 1 outputs, 2000 bytes\n"
    for words, expected in (
        (["cache", "tirm", *folder], "error: `tilewright cache` cannot `tirm`\n  hint: did you mean `trim`?\n"),
        (["cache", "stat"], "error: `tilewright cache` needs the folder of the cache\n  hint: --folder DIR\n"),
        (
            ["cache", "trim", *folder, "--size", "lots"],
            "error: `lots` is no size\n  hint: a number with k, M, G or T, such as 5G\n",
        ),
        (
            ["cache", "stat", "--folder", str(tmp_path)],
            f"error: `{tmp_path}` is no cache folder\n  hint: name the folder that `cache=` names in a build\n",
        ),
    ):
        assert main(words) == 1
        assert capsys.readouterr().err == expected


def test_the_command_says_what_it_could_not_remove(reachable: Path, capsys: pytest.CaptureFixture[str]) -> None:
    store = LocalStore(reachable / "cache")
    put(store, "x", used=1.0, a=b"x" * 2000)
    put(store, "y", used=2.0, a=b"y" * 2000)
    store._path("ac", key("y")).write_bytes(b"\xff")
    folder = ["--folder", str(reachable / "cache")]
    with writing_refused(reachable / "cache"):
        assert main(["cache", "trim", *folder, "--size", "1k"]) == 1
        assert capsys.readouterr().err == (
            f"error: cannot remove anything from {reachable}/cache: Permission denied\n"
            "  hint: run it as somebody who may write there\n"
        )
        assert main(["cache", "verify", *folder]) == 1
        assert f"cannot be removed: the entry {key('y')} was rotten\n" in capsys.readouterr().out
    assert main(["cache", "verify", *folder]) == 1
    assert f"removed: the entry {key('y')} was rotten\n" in capsys.readouterr().out


@pytest.mark.parametrize("what", ["stat", "verify", "trim"])
@pytest.mark.parametrize("place", ["grpc://cache.example:8980", "http://cache.example", "near,grpcs://cache.example:1"])
def test_the_command_looks_into_no_server(what: str, place: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["cache", what, "--folder", place]) == 1
    assert capsys.readouterr().err == (
        f"error: `{place}` is a server, and `tilewright cache {what}` looks into a folder\n"
        "  hint: a server keeps and removes what it has by its own rules; `--folder DIR` names the one in front of it\n"
    )


WRITER = """
import hashlib, random, sys
from pathlib import Path
from tilewright.cache.action_result import Entry, Output
from tilewright.cache.local import LocalStore
store, chance = LocalStore(Path(sys.argv[1])), random.Random(int(sys.argv[2]))
print("ready", flush=True)
while True:
    number = chance.randrange(40)
    data = {f"{number}.{part}": f"{number} {part}".encode() * (1 + number * 50) for part in range(3)}
    digests = {name: hashlib.sha256(each).hexdigest() for name, each in data.items()}
    entry = Entry(tuple(Output(name, digests[name], len(each)) for name, each in data.items()))
    key = hashlib.sha256(str(number).encode()).hexdigest()
    found = store.entry(key)
    if found is not None:
        for output in found.outputs:
            blob = store.blob(output)
            if blob is not None and blob != data[output.name]:
                print("WRONG", flush=True)
    store.store(key, entry, {digests[name]: each for name, each in data.items()})
    store.record_uses({key: chance.random() * 1e9})
    if chance.random() < 0.1:
        store.trim(40000)
"""


def test_writers_that_are_killed_at_any_time_leave_nothing_wrong(store: LocalStore) -> None:
    """Six processes store, read and trim one folder, and are killed in the middle, several times over."""
    for round_ in range(3):
        writers = [
            subprocess.Popen(
                [sys.executable, "-c", WRITER, str(store.folder.parent), str(round_ * 10 + number)],
                env={**os.environ, "PYTHONPATH": str(TOOLS)},
                stdout=subprocess.PIPE,
                text=True,
            )
            for number in range(6)
        ]
        for writer in writers:
            assert writer.stdout is not None
            assert writer.stdout.readline() == "ready\n"
        time.sleep(0.4)
        said = []
        for writer in writers:
            writer.kill()
            said.append(writer.communicate()[0])
        assert said == [""] * 6
    for name in sorted(store._keys()):
        entry = store.entry(name)
        assert entry is not None
        for output in entry.outputs:
            number, part = output.name.split(".")
            assert store.blob(output) in (None, f"{number} {part}".encode() * (1 + int(number) * 50))
    store.faults()
    assert store.faults() == []
    for output in (store.folder / "cas").rglob("*"):
        os.utime(output, (0, 0))  # what a killed writer left belongs to nobody only when it is old
    store.trim(40000)
    assert store.contents().size <= 40000


def test_reading_an_output_of_a_wrong_size_is_a_miss(store: LocalStore) -> None:
    entry, blobs = outputs(a=b"one")
    store.store(key("x"), entry, blobs)
    assert store.blob(Output("a", entry.outputs[0].sha256, 2)) is None
