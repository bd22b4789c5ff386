"""A real cache server of the Remote Execution API: buildbox-casd."""

from __future__ import annotations

import importlib.util
import os
import random
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from cache.conftest import Open, in_a_process, key, restored
from needed_tools import REQUIRE_ALL, needed
from tilewright.cache import reapi

if importlib.util.find_spec("grpc") is None and not os.environ.get(REQUIRE_ALL):
    pytest.skip("grpcio is not installed", allow_module_level=True)

from cache.grpc_servers import casd, lying

LARGE = random.Random(5).randbytes(9 << 20)
FILES = [("a.txt", b"one" * 1000, False), ("b", b"two", True), ("empty", b"", False)]
END = "; it is not used any more in this run"


@pytest.fixture
def real(tmp_path: Path) -> Iterator[str]:
    with casd(needed("buildbox-casd"), tmp_path / "casd") as url:
        yield url


def test_a_real_server_gives_what_it_was_given(real: str, opened: Open, told: list[str]) -> None:
    opened(real).store(key("x"), FILES, 2.5)
    other = opened(real, write=False)
    assert restored(other, FILES, "y") is None
    assert restored(other, FILES) == FILES
    assert other.statistics.line() == "tilewright cache: 1 hit, 1 miss, 3003 bytes restored, 2.5 s saved"
    opened(real).store(key("x"), [("a.txt", b"new", False), *FILES[1:]], 0)
    assert restored(other, FILES) == [("a.txt", b"new", False), *FILES[1:]]
    assert told == []


def test_a_real_server_takes_outputs_of_every_size(real: str, opened: Open, told: list[str]) -> None:
    """Those that fill a batch to the last byte, and those that need a stream."""
    edge = reapi.BATCH - 300
    sizes = (1, 1 << 20, 2 << 20, edge, edge + 1, edge + 299, edge + 300, 5 << 20, 9 << 20)
    files = [(str(size), LARGE[:size], False) for size in sizes]
    opened(real).store(key("x"), files, 0)
    found = opened(real).restore(key("x"), [name for name, _, _ in files])
    assert told == []
    assert found is not None
    assert [data for _, data in found] == [data for _, data, _ in files]


def test_a_real_server_serves_many_threads_at_once(real: str, opened: Open, told: list[str]) -> None:
    cache = opened(real)

    def one(number: int) -> bool:
        files = [("a.txt", bytes([number]) * 5000, False), *FILES[1:]]
        cache.store(key(str(number)), files, 0)
        return restored(cache, FILES, str(number)) == files

    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(one, range(100))) == [True] * 100
    assert told == []


def test_a_real_server_that_names_blobs_otherwise_is_refused(tmp_path: Path, opened: Open, told: list[str]) -> None:
    with casd(needed("buildbox-casd"), tmp_path / "casd", "--digest-function=SHA1") as url:
        assert restored(opened(url), FILES) is None
    words = "does not name its blobs by SHA-256, which its capabilities must have"
    assert told == [f"tilewright cache: {url} {words}{END}"]


def test_a_real_server_with_another_instance_says_so(tmp_path: Path, opened: Open, told: list[str]) -> None:
    program = needed("buildbox-casd")
    with casd(program, tmp_path / "casd", "--instance=team/main") as url:
        opened(f"{url}/team/main").store(key("x"), FILES, 0)
        assert restored(opened(f"{url}/team/main/"), FILES) == FILES
        assert told == []
        assert restored(opened(f"{url}/others"), FILES) is None
    assert told[0].startswith(f"tilewright cache: {url}/others answers with status INVALID_ARGUMENT (")


def test_a_server_that_restarts_is_used_on(tmp_path: Path, opened: Open, told: list[str]) -> None:
    program, folder = needed("buildbox-casd"), tmp_path / "casd"
    with casd(program, folder) as url:
        cache = opened(url)
        cache.store(key("x"), FILES, 0)
    with casd(program, folder, f"--bind={url.removeprefix('grpc://')}"):
        assert restored(cache, FILES) == FILES
    assert told == []


def test_a_process_that_used_a_server_ends_at_once(real: str) -> None:
    script = (
        "import hashlib, sys, time\nfrom pathlib import Path\nfrom tilewright.cache.tiers import open_cache\n"
        "for url in sys.argv[1:]:\n"
        "    cache = open_cache(url, top=Path('.'), tell=print, write_remote=True)\n"
        "    cache.store(hashlib.sha256(b'x').hexdigest(), [('a', bytes(9 << 20), False)], 0)\n"
        "    print(cache.restore(hashlib.sha256(b'x').hexdigest(), ['a']) is not None)\n"
        "print(time.time(), flush=True)\n"
    )
    with lying() as liar:
        liar.fault = "busy"
        said = in_a_process(script, real, liar.url)
        ended = time.time()
    first, line, second, last = said.splitlines()
    assert (first, second) == ("True", "False")
    assert line == f"tilewright cache: {liar.url} cannot be reached (come back later){END}"
    assert ended - float(last) < 3
