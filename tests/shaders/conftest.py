"""Kernel files, and capturing from them."""

from __future__ import annotations

import textwrap
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tilewright.shaders.capture import Captured, capture
from tilewright.shaders.errors import KernelFileError
from tilewright.shaders.request import make_request

HEAD = "from tilewright import tile\nfrom tilewright.tile import f32\n"
COPY = """
@tile.kernel
def copy(x: tile.In[f32, 1], y: tile.Out[f32, 1]):
    e = tile.axis("e", 4)
    for p in tile.parallel(tile.cdiv(x.shape[0], 4)):
        y[p.index() * 4, e] = x[p.index() * 4, e]
"""
SHAPES = {"x": (10,), "y": (10,)}


class Project:
    """A folder with kernel files."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def write(self, name: str, text: str) -> Path:
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        return path

    def capture(
        self, body: str = COPY, given: Any = None, *, name: str = "copy", kernel: str = "", time_limit: float = 30
    ) -> Captured:
        """The kernel of `k.py` with this body below two lines of imports."""
        file = self.write("k.py", HEAD + textwrap.dedent(body))
        request = make_request(name, kernel, SHAPES if given is None else given)
        return capture(file, request, root=self.folder, time_limit=time_limit)


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return Project(tmp_path)


@pytest.fixture
def refused(project: Project) -> Callable[..., str]:
    """The text of the error that a capture ends with."""

    def text(*arguments: Any, **named: Any) -> str:
        with pytest.raises(KernelFileError) as caught:
            project.capture(*arguments, **named)
        return str(caught.value)

    return text
