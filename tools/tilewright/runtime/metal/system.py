"""PyObjC: the frameworks Metal and Foundation, imported when a GPU is first needed."""

from __future__ import annotations

import platform
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import import_module
from typing import Any

from tilewright.runtime.errors import refusal

INSTALL = "pip install 'scons-tilelib[metal]'"


@dataclass(frozen=True, slots=True)
class System:
    """The modules `Metal`, `Foundation` and `objc`."""

    metal: Any
    foundation: Any
    objc: Any

    @contextmanager
    def calls(self, deed: str) -> Iterator[None]:
        """Temporary objects of these calls end here; an Objective-C exception becomes "cannot <deed>"."""
        with self.objc.autorelease_pool():
            try:
                yield
            except self.objc.error as failure:
                raise refusal(f"cannot {deed}: {failure}", "driver-error") from failure


def open_system() -> System:
    """ShaderError on any system but macOS, and where PyObjC is missing."""
    system = platform.system()
    if system != "Darwin":
        what = f"Metal shaders run on macOS only, and this is {system or 'another system'}"
        raise refusal(what, "no-macos", f"on a Mac: {INSTALL}")
    try:
        return System(*map(import_module, ("Metal", "Foundation", "objc")))
    except ImportError as missing:
        what = f"PyObjC's Metal framework cannot be imported: {missing}"
        raise refusal(what, "no-pyobjc", INSTALL) from missing


def error_text(error: Any) -> str:
    """What an NSError says, whole; "" for none."""
    return "" if error is None else str(error.localizedDescription())
