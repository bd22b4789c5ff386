"""Many builds with kills, rotten caches and a misbehaving server between them: no tree ever differs from a clean one.

Seeded. `TILEWRIGHT_FAULT_BUILDS` sets the number of builds; 200 take a few minutes.
"""

from __future__ import annotations

import os
import random
import signal
import time
from pathlib import Path

from cache.servers import Server, serving
from end_to_end.sandbox import LIMIT, RELU, SCONSTRUCT, Sandbox, finished

BUILDS = int(os.environ.get("TILEWRIGHT_FAULT_BUILDS", "25"))
SEED = 8
LIMITS = ("0.0f", "1.0f", "2.0f")
FAULTS = ("", "", "", "html", "other", "half", "status", "no-http")


def project(folder: Path) -> Sandbox:
    one = Sandbox(folder)
    one.write({"SConstruct": SCONSTRUCT, "relu.cu": RELU, "limit.cuh": LIMIT})
    return one


def made(one: Sandbox) -> dict[str, bytes]:
    """The tree of artifacts, without what a killed run had staged: the next run but a minute later removes it."""
    return {name: data for name, data in one.tree("build").items() if not name.endswith(".stage")}


def damage(cache: Path, server: Server, chance: random.Random) -> None:
    """Flips, cuts or deletes one file of the folder, or flips a byte of what the server has."""
    files = sorted(path for path in cache.rglob("*") if path.is_file())
    if files and chance.random() < 0.5:
        victim = chance.choice(files)
        data = victim.read_bytes()
        match chance.randrange(3):
            case 0:
                victim.unlink()
            case 1:
                victim.write_bytes(data[: len(data) // 2])
            case _:
                victim.write_bytes(data[:-1] + bytes([data[-1] ^ 1]) if data else b"?")
    if server.contents and chance.random() < 0.3:
        path = chance.choice(sorted(server.contents))
        server.contents[path] = server.contents[path][:-1] + b"?"


def test_faults_between_builds_never_reach_a_tree(tmp_path: Path) -> None:
    chance = random.Random(SEED)
    wanted = {}
    for limit in LIMITS:
        clean = project(tmp_path / f"clean{limit}")
        clean.write({"limit.cuh": LIMIT.replace("0.0f", limit)})
        assert clean.scons("arch=sm_120").code == 0
        wanted[limit] = made(clean)
    several = [project(tmp_path / f"project{number}") for number in range(3)]
    cache = tmp_path / "cache"
    finished_builds = 0
    with serving() as server:
        for number in range(BUILDS):
            one, limit = chance.choice(several), chance.choice(LIMITS)
            one.write({"limit.cuh": LIMIT.replace("0.0f", limit)})
            if chance.random() < 0.3:
                one.scons("-c", "arch=sm_120")
            damage(cache, server, chance)
            server.fault = chance.choice(FAULTS)
            process = one.start("arch=sm_120", f"cache={cache},{server.url}", "cache_write=1", "cache_size=20k")
            if chance.random() < 0.35:
                time.sleep(chance.uniform(0.2, 1.2))
                if process.poll() is None:
                    os.killpg(process.pid, signal.SIGKILL)
                    process.communicate()
                    continue
            run = finished(process)
            assert run.code == 0, (number, run)
            assert made(one) == wanted[limit], (number, run)
            finished_builds += 1
        server.fault = ""
        for one in several:
            one.write({"limit.cuh": LIMIT})
            assert one.scons("arch=sm_120", f"cache={cache},{server.url}").code == 0
            assert made(one) == wanted["0.0f"]
    assert finished_builds > BUILDS // 3
