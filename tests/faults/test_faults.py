"""Many builds with kills, rotten caches and a misbehaving server between them: no tree ever differs from a clean one.

Seeded. `TILEWRIGHT_FAULT_BUILDS` sets the number of builds, else there is one for each thing that the server does; 200
take a few minutes. `TILEWRIGHT_FAULT_LOG` names a file that gets a line for each build and a summary.
"""

from __future__ import annotations

import os
import random
import re
import signal
import subprocess
import time
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from cache.servers import Server, serving
from end_to_end.sandbox import LIMIT, RELU, Run, Sandbox, finished
from end_to_end.test_tile_shaders import FILES as SHADER
from tilewright import __version__

LOG = os.environ.get("TILEWRIGHT_FAULT_LOG", "")
SEED = 8
LIMITS = ("0.0f", "1.0f", "2.0f")
SOUND = ""
FOR_A_WHILE = "for one request or three"
FINISHED, GIVEN_UP = "finished with the tree of a clean build", "it is not used any more in this run"
FAULTS = (
    *("html", "other", "half", "status", "no-http"),
    *("endless", "drip", "silent", "reset", "busy"),
)
HITS = re.compile(r"^tilewright cache: [1-9]\d* hit", re.MULTILINE)
HAND = (*FAULTS, *(SOUND,) * (len(FAULTS) // 2))
"""What the server does in as many builds as this is long, each time in another order."""

BUILDS = int(os.environ.get("TILEWRIGHT_FAULT_BUILDS", str(len(HAND))))
MANY = 100
"""Builds in which everything is sure to happen, however fast the machine is."""

REQUESTS = (1, 3, -1, -1)
"""How many requests of a build a fault may meet; -1 is all of them."""

LONGEST = 60.0
"""Seconds that a build may take on a busy machine: a server of any kind costs it some three."""

SCONSTRUCT = """\
import tilewright.scons
from tilewright.cache import remote

remote.TIME_LIMIT, remote.LONGEST = remote.TIME_LIMIT / 10, remote.LONGEST / 100
env = Environment(tools=["default", tilewright.scons.generate])
relu = env.TileLibrary("relu", "relu.cu")
bindings = env.TileBindings(relu)
shader = env.TileShader("scale", "kernel.py", specialisations={"x": (1003,), "y": (1003,)})
env.Default(shader, env.TilePackage("relu", [relu, bindings], version="1.0"))
"""


@dataclass
class Log:
    """What is told of the builds, on paper where `LOG` names a file."""

    seen: Counter[str]
    started: float

    def line(self, text: str) -> None:
        """Adds a line; the first one begins the file."""
        if LOG:
            with open(LOG, "a" if self.seen["lines"] else "w", encoding="utf-8") as file:
                file.write(text + "\n")
        self.seen["lines"] += 1

    def summary(self) -> None:
        """The counts, by what happened and by what the server did."""
        names = [name for name in self.seen if name != "lines"]
        for name in sorted(names):
            self.line(f"{name}: {self.seen[name]}")
        self.line(f"wall time: {time.monotonic() - self.started:.0f} s")


def project(folder: Path) -> Sandbox:
    one = Sandbox(folder)
    one.write({**SHADER, "SConstruct": SCONSTRUCT, "relu.cu": RELU, "limit.cuh": LIMIT})
    return one


def made(one: Sandbox) -> dict[str, bytes]:
    """The tree of artifacts, without what a killed run had staged: the next run but a minute later removes it."""
    return {name: data for name, data in one.tree("build").items() if not name.endswith(".stage")}


def damage(cache: Path, chance: random.Random) -> list[str]:
    """Flips, cuts or deletes one file of the folder every other time; what was done."""
    files = sorted(path for path in cache.rglob("*") if path.is_file())
    if not files or chance.random() < 0.5:
        return []
    victim = chance.choice(files)
    data = victim.read_bytes()
    match way := chance.choice(("file deleted", "file cut", "file flipped")):
        case "file deleted":
            victim.unlink()
        case "file cut":
            victim.write_bytes(data[: len(data) // 2])
        case _:
            victim.write_bytes(data[:-1] + bytes([data[-1] ^ 1]) if data else b"?")
    return [way]


def rot(server: Server, chance: random.Random) -> list[str]:
    """Flips a byte of something that the server has, one time in three; the path of it."""
    if not server.contents or chance.random() < 0.7:
        return []
    path = chance.choice(sorted(server.contents))
    server.contents[path] = server.contents[path][:-1] + b"?"
    return [path]


def killed(process: subprocess.Popen[str], after: float) -> bool:
    """Kills a build some seconds after its start, unless it is done by then."""
    try:
        process.wait(after)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
        return True
    return False


def test_faults_between_builds_never_reach_a_tree(tmp_path: Path) -> None:
    log = Log(Counter(), time.monotonic())
    log.line(f"tilewright {__version__}, seed {SEED}: TILEWRIGHT_FAULT_BUILDS={BUILDS} pytest tests/faults")
    wanted = {}
    for limit in LIMITS:
        clean = project(tmp_path / f"clean{limit}")
        clean.write({"limit.cuh": LIMIT.replace("0.0f", limit)})
        assert clean.scons("arch=sm_120").code == 0
        wanted[limit] = made(clean)
    several = [project(tmp_path / f"project{number}") for number in range(3)]
    cache = tmp_path / "cache"
    order = random.Random(SEED)
    faults: list[str] = []
    with serving() as server:
        for number in range(BUILDS):
            faults = faults or order.sample(HAND, len(HAND))
            chance = random.Random(f"{SEED}/{number}")
            one, limit, server.fault = chance.choice(several), chance.choice(LIMITS), faults.pop()
            server.lasts = chance.choice(REQUESTS)
            one.write({"limit.cuh": LIMIT.replace("0.0f", limit)})
            happened = [
                f"server {server.fault or 'sound'}",
                *([FOR_A_WHILE] if server.fault and server.lasts > 0 else []),
            ]
            if chance.random() < 0.3:
                one.scons("-c", "arch=sm_120")
                happened.append("cleaned")
            happened += damage(cache, chance)
            rotten = rot(server, chance)
            happened += ["blob flipped"] * len(rotten)
            started = time.monotonic()
            process = one.start("arch=sm_120", f"cache={cache},{server.url}", "cache_write=1", "cache_size=40k")
            if chance.random() < 0.35 and killed(process, chance.uniform(0.2, 1.5)):
                happened.append("killed")
            else:
                run: Run = finished(process)
                assert run.code == 0, (number, happened, run)
                assert made(one) == wanted[limit], (number, happened, run)
                happened += ["server given up"] if GIVEN_UP in run.out + run.err else []
                happened += ["restored from the cache"] if HITS.search(run.out) else []
                happened.append(FINISHED)
                assert time.monotonic() - started < LONGEST, (number, happened, run)
            for path in rotten:
                server.contents.pop(path, None)
            log.seen.update(happened)
            seconds = time.monotonic() - started
            log.line(f"{number} {one.folder.name} limit {limit}, {', '.join(happened)}, {seconds:.1f} s")
        server.fault = SOUND
        for one in several:
            one.write({"limit.cuh": LIMIT})
            assert one.scons("arch=sm_120", f"cache={cache},{server.url}").code == 0
            assert made(one) == wanted["0.0f"]
    log.summary()
    assert log.seen[FINISHED] > BUILDS // 3
    if len(HAND) <= BUILDS:
        assert {f"server {fault}" for fault in FAULTS} <= log.seen.keys()
    if BUILDS >= MANY:
        assert {"killed", "server given up", "restored from the cache", "blob flipped", "file cut"} <= log.seen.keys()
    log.line("passed: no tree differs from that of a clean build")
