"""The Mac that the stand-in for PyObjC is on: what it is, how it misbehaves, and what was done on it."""

from __future__ import annotations

import weakref
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from runtime.standin_msl import Builder

if TYPE_CHECKING:
    from runtime.standin_metal import Buffer, Options, Queue


class ObjectiveCError(Exception):
    """`objc.error`: an Objective-C exception."""


class MTLSize(NamedTuple):
    width: int
    height: int
    depth: int


class Version(NamedTuple):
    majorVersion: int
    minorVersion: int
    patchVersion: int


@dataclass
class Mac:
    """What the machine is, how it misbehaves, and what was done on it."""

    builder: Builder
    folder: Path
    family: int = 7
    os: int = 26
    reported_os: int = 0
    width: int = 32
    max_threads: int = 1024
    threadgroup_memory: int = 32768
    name: str = "stand-in"
    gpus: int = 1
    ignores_math_mode: bool = False
    ignores_contraction: bool = False
    fails_launches: bool = False
    no_pipeline: str = ""
    warns: str = ""
    calls: list[str] = field(default_factory=list)
    compiled: list[tuple[str, Options]] = field(default_factory=list)
    pools: int = 0
    open_encoders: int = 0
    buffers: weakref.WeakSet[Buffer] = field(default_factory=weakref.WeakSet)
    queues: weakref.WeakSet[Queue] = field(default_factory=weakref.WeakSet)

    def called(self, selector: str) -> None:
        """Every call has to be within a pool: on a Mac, objects would pile up otherwise."""
        if not self.pools:
            raise ObjectiveCError(f"{selector} is called outside of an autorelease pool")
        self.calls.append(selector)


def strictly(condition: bool, what: str) -> None:
    """What the frameworks answer with an exception, or with the end of the process."""
    if not condition:
        raise ObjectiveCError(f"NSInvalidArgumentException - {what}")


class NSError:
    def __init__(self, text: str) -> None:
        self._text = text

    def localizedDescription(self) -> str:
        return self._text
