"""Which architectures the targets of a build script are made for."""

from __future__ import annotations

from tilewright.scons import run_mode
from tilewright.scons.placement import Placement
from tilewright.scons.session import Session
from tilewright.scons.variables import Settings


def chosen(settings: Settings, session: Session, place: Placement) -> tuple[str, ...]:
    """The architectures of `arch=`, none when it is not given; a run that cleans without it takes what is built."""
    from tilewright.toolchain.architectures import normalize, parse_architectures

    if run_mode.cleaning():
        named = tuple(normalize(item) for item in settings.arch.split(",") if item.strip())
        return named or place.built()
    return parse_architectures(settings.arch, session.toolkit) if settings.arch else ()
