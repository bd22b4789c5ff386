"""A cache server: what it gives is checked, and one that fails in any way costs one line and little time."""

from __future__ import annotations

import resource
import socket
import ssl
import subprocess
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest

from cache.conftest import Open, key, restored, with_credentials, writing_refused
from cache.servers import Server, serving
from needed_tools import needed
from tilewright.cache import remote, tiers
from tilewright.cache.action_result import decode, encode
from tilewright.cache.errors import CacheError
from tilewright.cache.http import HttpStore
from tilewright.cache.tiers import size_of

FILES = [("a.txt", b"one" * 1000, False), ("b", b"two", True)]


def test_what_one_machine_stores_another_finds(server: Server, opened: Open, told: list[str]) -> None:
    opened(server.url).store(key("x"), FILES, 2.5)
    assert [request.split("/")[2] for request in server.requests] == ["cas", "cas", "ac"]
    other = opened(server.url, write=False)
    assert restored(other, FILES, "y") is None
    assert restored(other, FILES) == FILES
    assert other.statistics.line() == "tilewright cache: 1 hit, 1 miss, 3003 bytes restored, 2.5 s saved"
    assert told == []


def test_a_server_is_only_read_unless_told_otherwise(server: Server, opened: Open) -> None:
    opened(server.url, write=False).store(key("x"), FILES, 0)
    assert server.requests == []


def test_a_folder_in_front_keeps_what_the_server_gave(server: Server, opened: Open) -> None:
    opened(server.url).store(key("x"), FILES, 0)
    assert restored(opened(f"near,{server.url}", write=False), FILES) == FILES
    seen = len(server.requests)
    assert restored(opened(f"near,{server.url}", write=False), FILES) == FILES
    assert len(server.requests) == seen


def test_a_connection_is_kept_and_made_again_when_it_was_closed(server: Server, opened: Open, told: list[str]) -> None:
    cache = opened(server.url)
    for number in range(5):
        cache.store(key(str(number)), FILES, 0)
    assert server.connections == 1
    assert cache.remote is not None
    kept = cache.remote._local.connection
    kept.sock.shutdown(socket.SHUT_RDWR)
    assert restored(cache, FILES, "3") == FILES
    assert server.connections == 2
    assert told == []


@pytest.mark.parametrize(
    ("fault", "words"),
    [
        ("html", "answers with something that is no entry"),
        ("status", "answers with status 500"),
        ("other", "answers with other bytes than it was asked for"),
        ("half", "breaks off in the middle of an answer"),
        ("endless", "answers with more than it was asked for"),
        ("drip", "takes too long for an answer"),
        ("silent", "takes too long for an answer"),
        ("no-http", "does not speak HTTP (BadStatusLine)"),
    ],
)
def test_a_server_that_misbehaves_costs_one_line_and_little_time(
    server: Server, opened: Open, told: list[str], monkeypatch: pytest.MonkeyPatch, fault: str, words: str
) -> None:
    monkeypatch.setattr(remote, "TIME_LIMIT", 0.6)
    monkeypatch.setattr(remote, "LONGEST", 0.4)
    opened(server.url).store(key("x"), FILES, 0)
    server.fault = fault
    cache = opened(server.url)
    started = time.monotonic()
    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(lambda _: restored(cache, FILES), range(4))) == [None] * 4
    assert [restored(cache, FILES) for _ in range(3)] == [None] * 3
    assert time.monotonic() - started < 3
    assert told == [f"tilewright cache: {server.url} {words}; it is not used any more in this run"]
    seen = len(server.requests)
    cache.store(key("x"), FILES, 0)
    assert len(server.requests) == seen


def test_an_output_of_another_size_than_its_entry_says_is_not_taken(
    server: Server, opened: Open, told: list[str]
) -> None:
    opened(server.url).store(key("x"), FILES, 0)
    path = f"/team/ac/{key('x')}"
    entry = decode(server.contents[path])
    server.contents[path] = encode(replace(entry, outputs=(replace(entry.outputs[0], size=4000), entry.outputs[1])))
    assert restored(opened(server.url), FILES) is None
    assert "answers with other bytes than it was asked for" in told[0]


def test_an_output_that_is_too_large_to_share_is_a_miss(
    server: Server, opened: Open, told: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    opened(server.url).store(key("x"), FILES, 0)
    monkeypatch.setattr(tiers, "BLOB_LIMIT", 2999)
    seen = len(server.requests)
    assert restored(opened(server.url), FILES) is None
    assert len(server.requests) == seen + 1
    opened(server.url).store(key("y"), FILES, 0)
    assert len(server.requests) == seen + 1
    assert told == []


def test_an_entry_of_another_action_is_not_taken(server: Server, opened: Open, told: list[str]) -> None:
    opened(server.url).store(key("x"), [("other", b"", False)], 0)
    assert restored(opened(server.url), FILES) is None
    assert "answers with the entry of another action" in told[0]


def test_an_entry_without_its_outputs_is_a_miss(server: Server, opened: Open, told: list[str]) -> None:
    opened(server.url).store(key("x"), FILES, 0)
    del server.contents[next(path for path in server.contents if "/cas/" in path)]
    assert restored(opened(server.url), FILES) is None
    assert told == []


def test_a_dead_server_is_told_once(opened: Open, told: list[str]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    cache = opened(f"http://127.0.0.1:{port}")
    assert [restored(cache, FILES), restored(cache, FILES)] == [None, None]
    assert len(told) == 1
    assert f"http://127.0.0.1:{port} cannot be reached (" in told[0]


@pytest.mark.parametrize("host", ["a..b", "a" * 70])
def test_a_host_that_cannot_be_is_told_once(opened: Open, told: list[str], host: str) -> None:
    cache = opened(f"http://{host}:80")
    assert [restored(cache, FILES), restored(cache, FILES)] == [None, None]
    assert len(told) == 1
    assert f"http://{host}:80 cannot be reached (" in told[0]


@with_credentials
def test_the_environment_lets_us_in(
    server: Server,
    opened: Open,
    told: list[str],
    monkeypatch: pytest.MonkeyPatch,
    environ: dict[str, str],
    expected: str,
) -> None:
    server.expected = expected
    assert restored(opened(server.url), FILES) is None
    assert told == [
        f"tilewright cache: {server.url} refuses us (status 401); TILEWRIGHT_CACHE_TOKEN, or TILEWRIGHT_CACHE_USER and "
        "TILEWRIGHT_CACHE_PASSWORD, in the environment let it in; it is not used any more in this run"
    ]
    for name, value in environ.items():
        monkeypatch.setenv(name, value)
    opened(server.url).store(key("x"), FILES, 0)
    assert restored(opened(server.url), FILES) == FILES


@pytest.mark.parametrize("token", ["line\nbreak", "\u00e4", "nul\0"])
def test_a_token_that_fits_into_no_header_is_refused(opened: Open, monkeypatch: pytest.MonkeyPatch, token: str) -> None:
    monkeypatch.setattr(tiers.os, "environ", {remote.TOKEN: token})
    with pytest.raises(
        CacheError, match="TILEWRIGHT_CACHE_TOKEN holds characters that no request may carry"
    ) as refused:
        opened("http://a")
    assert token not in str(refused.value)


@pytest.mark.parametrize(
    ("places", "words"),
    [
        ("a,b", "names 2 folders and 0 addresses"),
        ("http://a,http://b", "names 0 folders and 2 addresses"),
        ("https:/a", "`https:/a` is no address of a cache"),
        ("a/b,grpc:/c:1/d", "names 2 folders"),
        ("grpc:/c:1/d", "did you mean `grpc://c:1/d`? `./grpc:/c:1/d` would be a folder"),
        ("a,,http://b", "names 2 folders and 1 addresses"),
        ("ftp://a", "`ftp://a` is no address of a cache\n  hint: cache=http://cache.example:8080"),
        ("http://", "is no address of a cache"),
        ("http://a:port", "is no address of a cache"),
        (
            "http://ann:pw@a",
            "the address of the cache holds more than host, port and path: a\n  hint: TILEWRIGHT_CACHE",
        ),
    ],
)
def test_other_places_are_refused(opened: Open, places: str, words: str) -> None:
    with pytest.raises(CacheError) as refused:
        opened(places)
    assert words in str(refused.value)
    assert ":pw" not in str(refused.value)


def test_a_file_is_no_cache_folder(opened: Open, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(CacheError, match="is a file, and the cache needs a folder"):
        opened("file")


def test_sizes_are_in_powers_of_1024() -> None:
    assert [size_of(text) for text in ("7", "2k", "3M", "1GiB", " 1t ")] == [7, 2048, 3 << 20, 1 << 30, 1 << 40]
    for text in ("", "G", "-1", "1.5G", "1X"):
        with pytest.raises(CacheError, match="is no size"):
            size_of(text)


def test_a_folder_that_cannot_be_written_costs_one_line(tmp_path: Path, opened: Open, told: list[str]) -> None:
    cache = opened("near")
    (tmp_path / "near").mkdir()
    (tmp_path / "near/tilewright-1").write_text("a file in the way")
    for name in ("x", "y"):
        cache.store(key(name), FILES, 0)
        assert restored(cache, FILES, name) is None
    cache.close()
    assert len(told) == 1
    assert f"tilewright cache: cannot write to {tmp_path}/near: " in told[0]
    assert told[0].endswith("; nothing more is added to it")


def test_a_folder_that_is_only_read_gives_and_takes_nothing(reachable: Path, opened: Open, told: list[str]) -> None:
    near = reachable / "near"
    opened(str(near)).store(key("x"), FILES, 0)
    opened(str(near)).store(key("rotten"), FILES, 0)
    (near / f"tilewright-1/ac/{key('rotten')[:2]}/{key('rotten')}").write_bytes(b"<html>")
    before = {path: path.read_bytes() for path in near.rglob("*") if path.is_file()}
    with writing_refused(near):
        cache = opened(str(near))
        assert restored(cache, FILES) == FILES
        cache.close()
        assert told == []
        assert [restored(cache, FILES, "y"), restored(cache, FILES, "rotten")] == [None, None]
        for name in ("y", "z"):
            cache.store(key(name), FILES, 0)
        assert restored(cache, FILES) == FILES
        cache.close()
    assert told == [f"tilewright cache: cannot write to {near}: Permission denied; nothing more is added to it"]
    assert {path: path.read_bytes() for path in near.rglob("*") if path.is_file()} == before


def test_rotten_outputs_in_a_folder_that_is_only_read_are_not_taken(
    reachable: Path, opened: Open, told: list[str]
) -> None:
    near = reachable / "near"
    opened(str(near)).store(key("x"), FILES, 0)
    (blob,) = [path for path in (near / "tilewright-1/cas").rglob("*") if path.is_file() and path.stat().st_size == 3]
    blob.write_bytes(b"Two")
    with writing_refused(near):
        cache = opened(str(near))
        assert [restored(cache, FILES), restored(cache, FILES)] == [None, None]
    assert told == [f"tilewright cache: {near} holds rotten entries; they cannot be removed"]


def test_a_folder_without_space_costs_one_line_and_keeps_nothing_half(
    tmp_path: Path, opened: Open, told: list[str]
) -> None:
    """The system refuses the bytes in the middle of a file, as a full disk does."""
    cache = opened("near")
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1500, before[1]))
    try:
        for name in ("x", "y"):
            cache.store(key(name), FILES, 0)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert restored(cache, FILES) is None
    cache.close()
    assert [path for path in (tmp_path / "near").rglob("*") if path.is_file()] == []
    assert told == [f"tilewright cache: cannot write to {tmp_path}/near: File too large; nothing more is added to it"]


def test_a_certificate_that_nobody_signed_is_not_trusted(tmp_path: Path, opened: Open, told: list[str]) -> None:
    names = ("-subj", "/CN=127.0.0.1", "-addext", "subjectAltName=IP:127.0.0.1")
    made = (
        "-x509",
        "-newkey",
        "rsa:2048",
        "-nodes",
        "-days",
        "2",
        "-keyout",
        tmp_path / "key",
        "-out",
        tmp_path / "pem",
    )
    subprocess.run([needed("openssl"), "req", *made, *names], check=True, capture_output=True)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(tmp_path / "pem", tmp_path / "key")
    with serving() as server:
        server.socket = context.wrap_socket(server.socket, server_side=True)
        url = server.url.replace("http:", "https:")
        assert restored(opened(url), FILES) is None
        assert told == [
            f"tilewright cache: {url} has a certificate that is not trusted (self-signed certificate); "
            "it is not used any more in this run"
        ]
        assert server.requests == []


CONFIGURATION = """
daemon off;
worker_processes 1;
pid {folder}/pid;
error_log {folder}/errors;
events {{}}
http {{
  access_log off;
  client_body_temp_path {folder}/body;
  proxy_temp_path {folder}/proxy;
  fastcgi_temp_path {folder}/fastcgi;
  uwsgi_temp_path {folder}/uwsgi;
  scgi_temp_path {folder}/scgi;
  server {{
    listen 127.0.0.1:{port};
    root {folder}/root;
    client_max_body_size 0;
    location / {{ dav_methods PUT; create_full_put_path on; }}
  }}
}}
"""


@pytest.fixture
def nginx(reachable: Path) -> Iterator[str]:
    """The address of a real nginx with WebDAV."""
    program = needed("nginx")
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    folder = reachable / "nginx"
    (folder / "root").mkdir(parents=True)
    (folder / "root").chmod(0o777)
    (folder / "configuration").write_text(CONFIGURATION.format(folder=folder, port=port))
    with subprocess.Popen(
        [program, "-c", folder / "configuration", "-p", folder], stderr=subprocess.DEVNULL
    ) as running:
        for _ in range(100):
            try:
                socket.create_connection(("127.0.0.1", port), timeout=1).close()
                break
            except OSError:
                time.sleep(0.05)
        yield f"http://127.0.0.1:{port}/cache"
        running.terminate()


def test_nginx_with_webdav_is_a_cache_server(nginx: str, opened: Open, told: list[str]) -> None:
    cache = opened(nginx)
    assert restored(cache, FILES) is None
    for number in range(50):
        cache.store(key(str(number)), [("a.txt", bytes([number]) * 5000, False), ("b", b"two", True)], 0)
    assert told == []
    other = opened(nginx, write=False)
    for number in range(50):
        assert restored(other, FILES, str(number)) == [("a.txt", bytes([number]) * 5000, False), ("b", b"two", True)]
    assert isinstance(other.remote, HttpStore)
