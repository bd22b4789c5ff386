"""`cache=grpc://...`: a server of the Remote Execution API behind whole builds."""

from __future__ import annotations

import importlib.util
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from end_to_end.sandbox import Sandbox
from needed_tools import REQUIRE_ALL, needed

if importlib.util.find_spec("grpc") is None and not os.environ.get(REQUIRE_ALL):
    pytest.skip("grpcio is not installed", allow_module_level=True)

from cache.grpc_servers import casd, lying

BUILD = ("arch=sm_120", "-Q", "-j2")
STEPS = ["bytecode", "exports", "library", "ltoir"]
Project = Callable[..., Sandbox]


def test_a_second_checkout_takes_everything_from_a_server(sandbox: Sandbox, project: Project, tmp_path: Path) -> None:
    with casd(needed("buildbox-casd"), tmp_path / "casd") as url:
        first = sandbox.scons(*BUILD, f"cache={url}", "cache_write=1")
        assert (first.code, sorted(first.steps), first.err) == (0, STEPS, "")
        other = project("another/folder")
        second = other.scons(*BUILD, f"cache={url}")
        assert (second.code, second.steps, second.err) == (0, [], "")
        assert "tilewright cache: 4 hits, 0 misses, " in second.out
        assert other.tree("build") == sandbox.tree("build")


def test_a_server_that_refuses_us_costs_one_line(sandbox: Sandbox) -> None:
    with lying() as liar:
        liar.expected = "Bearer s3cret"
        refused = sandbox.scons(*BUILD, f"cache={liar.url}", "cache_write=1")
        assert (refused.code, sorted(refused.steps), refused.err) == (0, STEPS, "")
        assert refused.out.count("refuses us (status UNAUTHENTICATED); TILEWRIGHT_CACHE_TOKEN") == 1
        assert liar.entries == {}


def test_without_grpcio_the_build_stops_while_its_scripts_are_read(sandbox: Sandbox) -> None:
    sandbox.write({"absent/sitecustomize.py": "import sys\n\nsys.modules['grpc'] = None\n"})
    absent = f"{sandbox.folder / 'absent'}{os.pathsep}{Path(__file__).parents[2] / 'tools'}"
    refused = sandbox.scons(*BUILD, "cache=grpc://127.0.0.1:8980", PYTHONPATH=absent)
    assert refused.code == 2
    assert "needs the Python package grpcio\n  hint: pip install 'scons-tilelib[remote]'" in refused.err
    assert "Traceback" not in refused.err
