"""A cache server of the Remote Execution API that fails in every way."""

from __future__ import annotations

import importlib.util
import os
import random
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from cache.conftest import Open, in_a_process, key, restored, with_credentials
from cache.servers import serving
from needed_tools import REQUIRE_ALL, needed
from tilewright.cache import reapi_messages, remote
from tilewright.cache.errors import CacheError
from tilewright.cache.reapi_messages import EMPTY

if importlib.util.find_spec("grpc") is None and not os.environ.get(REQUIRE_ALL):
    pytest.skip("grpcio is not installed", allow_module_level=True)

from cache.grpc_servers import lying

if TYPE_CHECKING:
    from cache.grpc_servers import Liar

LARGE = random.Random(5).randbytes(100_000)
FILES = [("a.txt", b"one" * 1000, False), ("b", b"two", True), ("empty", b"", False)]
STREAMED = [("streamed", LARGE, False)]
NAMES = [name for name, _, _ in FILES]
END = "; it is not used any more in this run"


@pytest.fixture
def liar() -> Iterator[Liar]:
    """A server that takes so little in a batch that `STREAMED` needs a stream."""
    with lying() as running:
        running.limit = 5000
        yield running


@pytest.mark.parametrize(
    ("fault", "files", "words"),
    [
        ("other", FILES, "answers with other bytes than it was asked for"),
        ("half", FILES, "answers with other bytes than it was asked for"),
        ("more", FILES, "answers with other bytes than it was asked for"),
        ("endless", FILES, "answers with more than it was asked for"),
        ("nonsense", FILES, "does not speak the Remote Execution API (a broken message)"),
        ("no-entry", FILES, "answers with something that is no entry"),
        ("long-entry", FILES, "answers with more than it was asked for"),
        ("busy", FILES, "cannot be reached (come back later)"),
        ("denied", FILES, remote.refusal("PERMISSION_DENIED")),
        ("sha1", FILES, "does not name its blobs by SHA-256, which its capabilities must have"),
        ("slow", FILES, "takes too long for an answer"),
        ("other", STREAMED, "answers with other bytes than it was asked for"),
        ("half", STREAMED, "breaks off in the middle of an answer"),
        ("more", STREAMED, "answers with more than it was asked for"),
        ("endless", STREAMED, "answers with more than it was asked for"),
        ("drip", STREAMED, "takes too long for an answer"),
    ],
)
def test_a_server_that_misbehaves_costs_one_line_and_little_time(
    liar: Liar,
    opened: Open,
    told: list[str],
    monkeypatch: pytest.MonkeyPatch,
    fault: str,
    files: list[tuple[str, bytes, bool]],
    words: str,
) -> None:
    opened(liar.url).store(key("x"), files, 0)
    names = [name for name, _, _ in files]
    if words == remote.TOO_SLOW:
        monkeypatch.setattr(remote, "TIME_LIMIT", 0.8)
    liar.fault = fault
    cache = opened(liar.url)
    started = time.monotonic()
    with ThreadPoolExecutor(3) as pool:
        assert list(pool.map(lambda _: cache.restore(key("x"), names), range(3))) == [None] * 3
    assert cache.restore(key("x"), names) is None
    assert time.monotonic() - started < 4
    assert told == [f"tilewright cache: {liar.url} {words}{END}"]
    seen = len(liar.calls)
    cache.store(key("x"), files, 0)
    assert len(liar.calls) == seen


@pytest.mark.parametrize(
    ("fault", "words"),
    [
        ("full", "answers with status RESOURCE_EXHAUSTED"),
        ("silent", "does not keep what it is given"),
        ("forgetful", "does not keep what it is given"),
        ("absent", "answers with status NOT_FOUND (no such instance)"),
        ("read-only", "takes no entries from us, so `cache_write=1` is of no use with it"),
    ],
)
def test_a_server_that_takes_nothing_costs_one_line(
    liar: Liar, opened: Open, told: list[str], fault: str, words: str
) -> None:
    liar.fault = fault
    cache = opened(liar.url)
    for name in ("x", "y"):
        cache.store(key(name), [*FILES, *STREAMED], 0)
    assert told == [f"tilewright cache: {liar.url} {words}{END}"]
    assert liar.entries == {}


def test_what_a_server_says_stays_one_short_line(liar: Liar, opened: Open, told: list[str]) -> None:
    liar.fault = "internal"
    assert restored(opened(liar.url), FILES) is None
    assert len(told) == 1
    assert "answers with status INTERNAL (line [31m one line two long long" in told[0]
    assert told[0].isprintable()
    assert len(told[0]) < 350


@pytest.mark.parametrize(("fault", "lasts"), [("busy", 2), ("slow", 1)])
def test_a_server_that_fails_for_a_moment_is_asked_again(
    liar: Liar, opened: Open, told: list[str], monkeypatch: pytest.MonkeyPatch, fault: str, lasts: int
) -> None:
    opened(liar.url).store(key("x"), FILES, 0)
    cache = opened(liar.url)
    assert restored(cache, FILES, "y") is None
    monkeypatch.setattr(remote, "TIME_LIMIT", 0.8)
    liar.fault, liar.lasts = fault, lasts
    liar.calls.clear()
    assert restored(cache, FILES) == FILES
    assert told == []
    assert liar.calls == ["GetActionResult"] * (lasts + 1) + ["BatchReadBlobs"]


def test_outputs_go_together_before_their_entry_and_once(
    liar: Liar, opened: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reapi_messages, "CHUNK", 30_000)
    cache = opened(liar.url)
    cache.store(key("x"), [*FILES, *STREAMED], 0)
    before_entry = ["GetCapabilities", "FindMissingBlobs", "BatchUpdateBlobs", "Write"]
    assert liar.calls == [*before_entry, "UpdateActionResult"]
    liar.calls.clear()
    cache.store(key("x"), [*FILES, *STREAMED], 0)
    assert liar.calls == ["FindMissingBlobs", "UpdateActionResult"]
    assert liar.instances == {"team/main"}
    assert STREAMED[0][1] in liar.blobs.values()
    assert EMPTY.encoded() not in liar.blobs


def test_a_batch_stays_below_what_the_server_takes(liar: Liar, opened: Open, told: list[str]) -> None:
    files = [(str(number), LARGE[number * 1000 :][: number * 250], False) for number in range(24)]
    opened(liar.url).store(key("x"), files, 0)
    assert {"BatchUpdateBlobs", "Write"} <= set(liar.calls)
    assert opened(liar.url).restore(key("x"), [name for name, _, _ in files]) is not None
    assert {"BatchReadBlobs", "Read"} <= set(liar.calls)
    assert told == []


def test_an_entry_without_its_outputs_is_a_miss(liar: Liar, opened: Open, told: list[str]) -> None:
    opened(liar.url).store(key("x"), FILES, 0)
    liar.fault = "missing"
    assert restored(opened(liar.url), FILES) is None
    liar.fault = ""
    liar.blobs.clear()
    assert restored(opened(liar.url), FILES) is None
    assert told == []


def test_a_server_is_only_read_unless_told_otherwise(liar: Liar, opened: Open) -> None:
    cache = opened(liar.url, write=False)
    cache.store(key("x"), FILES, 0)
    assert restored(cache, FILES) is None
    assert liar.calls == ["GetCapabilities", "GetActionResult"]


def test_a_folder_in_front_keeps_what_the_server_gave(liar: Liar, opened: Open) -> None:
    opened(liar.url).store(key("x"), FILES, 0)
    assert restored(opened(f"near,{liar.url}"), FILES) == FILES
    seen = len(liar.calls)
    assert restored(opened(f"near,{liar.url}"), FILES) == FILES
    assert len(liar.calls) == seen


@with_credentials
def test_the_environment_lets_us_in(
    liar: Liar,
    opened: Open,
    told: list[str],
    monkeypatch: pytest.MonkeyPatch,
    environ: dict[str, str],
    expected: str,
) -> None:
    liar.expected = expected
    cache = opened(liar.url)
    assert [restored(cache, FILES), restored(cache, FILES)] == [None, None]
    assert told == [f"tilewright cache: {liar.url} {remote.refusal('UNAUTHENTICATED')}{END}"]
    for name, value in environ.items():
        monkeypatch.setenv(name, value)
    opened(liar.url).store(key("x"), [*FILES, *STREAMED], 0)
    assert opened(liar.url).restore(key("x"), [*NAMES, "streamed"]) is not None


def test_a_dead_server_is_told_once(opened: Open, told: list[str]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    cache = opened(f"grpc://127.0.0.1:{port}")
    started = time.monotonic()
    assert [restored(cache, FILES), restored(cache, FILES)] == [None, None]
    assert time.monotonic() - started < 2
    assert len(told) == 1
    assert f"grpc://127.0.0.1:{port} cannot be reached (" in told[0]
    assert "Connection refused" in told[0]


def test_a_server_that_never_answers_is_told_once(
    opened: Open, told: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(remote, "TIME_LIMIT", 0.3)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        url = f"grpc://127.0.0.1:{silent.getsockname()[1]}"
        cache = opened(url)
        started = time.monotonic()
        with ThreadPoolExecutor(4) as pool:
            assert list(pool.map(lambda _: restored(cache, FILES), range(4))) == [None] * 4
        assert time.monotonic() - started < 3
    assert told == [f"tilewright cache: {url} takes too long for an answer{END}"]


def test_a_server_of_http_is_told_once(opened: Open, told: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(remote, "TIME_LIMIT", 1.0)
    with serving() as server:
        url = server.url.replace("http:", "grpc:")
        assert restored(opened(url), FILES) is None
    assert len(told) == 1
    assert told[0].startswith(f"tilewright cache: {url} ")


def test_only_trusted_certificates_are_taken(
    tmp_path: Path, opened: Open, told: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    names = ("-subj", "/CN=127.0.0.1", "-addext", "subjectAltName=IP:127.0.0.1")
    files = ("-keyout", tmp_path / "key", "-out", tmp_path / "pem")
    command = [needed("openssl"), "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", *files, *names]
    subprocess.run(command, check=True, capture_output=True)
    with lying({name: (tmp_path / name).read_bytes() for name in ("key", "pem")}) as server:
        url = server.url.replace("grpc:", "grpcs:")
        script = (
            "import sys\nfrom pathlib import Path\nfrom tilewright.cache.tiers import open_cache\n"
            "open_cache(sys.argv[1], top=Path('.'), tell=print).restore('00' * 32, ['a'])\n"
        )
        done = in_a_process(script, url)
        assert done == f"tilewright cache: {url} has a certificate that is not trusted (self signed certificate){END}\n"
        assert server.calls == []
        monkeypatch.delenv("GRPC_DEFAULT_SSL_ROOTS_FILE_PATH", raising=False)
        monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "pem"))
        opened(url).store(key("x"), FILES, 0)
        assert restored(opened(url), FILES) == FILES
        assert told == []


@pytest.mark.parametrize(
    ("place", "words"),
    [
        ("grpc://a", "`grpc://a` is no address of a cache\n  hint: cache=http://cache.example:8080 or cache=grpc://"),
        ("grpc://", "is no address of a cache"),
        ("grpc://a:port", "is no address of a cache"),
        ("grpc://a b:1", "is no address of a cache"),
        ("grpcs://ann:pw@a:1", "the address of the cache holds more than host, port and path: a\n"),
    ],
)
def test_other_places_are_refused(opened: Open, place: str, words: str) -> None:
    with pytest.raises(CacheError) as refused:
        opened(place)
    assert words in str(refused.value)
    assert ":pw" not in str(refused.value)


def test_without_grpcio_the_address_is_refused_with_the_way_out(opened: Open, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "grpc", None)
    with pytest.raises(CacheError) as refused:
        opened("grpcs://cache.example:8980")
    assert str(refused.value) == (
        "error: `cache=grpcs://...` needs the Python package grpcio\n  hint: pip install 'scons-tilelib[remote]'"
    )


def test_a_grpcio_that_does_not_load_costs_one_line(tmp_path: Path) -> None:
    (tmp_path / "grpc.py").write_text("raise ImportError('libatomic.so.1 is missing')\n")
    script = (
        "import sys\nfrom pathlib import Path\nfrom tilewright.cache.tiers import open_cache\n"
        "sys.path.insert(0, sys.argv[1])\n"
        "cache = open_cache('grpc://127.0.0.1:1', top=Path('.'), tell=print)\n"
        "print([cache.restore('00' * 32, ['a']) for _ in range(2)])\n"
    )
    words = "cannot be used, because grpcio does not load (libatomic.so.1 is missing)"
    said = f"tilewright cache: grpc://127.0.0.1:1 {words}{END}\n[None, None]\n"
    assert in_a_process(script, str(tmp_path)) == said


def test_grpcio_is_loaded_at_the_first_use_only() -> None:
    script = (
        "import sys\nfrom pathlib import Path\nfrom tilewright.cache.tiers import open_cache\n"
        "open_cache('grpc://127.0.0.1:1', top=Path('.'), tell=print).close()\nprint('grpc' in sys.modules)\n"
    )
    assert in_a_process(script) == "False\n"
