"""Reads a `.cu` file and the headers it includes."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from tilewright.sources.cuda.includes import Closure, headers_of
from tilewright.sources.cuda.lexer import SourceText
from tilewright.sources.cuda.reader import read_cuda
from tilewright.sources.languages import CUDA
from tilewright.sources.source import Source
from tilewright.sources.text import read_text


def read_cuda_file(
    path: Path,
    *,
    name: str,
    root: Path,
    library: str,
    include_path: Sequence[Path],
    toolkit_include: Sequence[Path],
) -> Source:
    """The source under its project-relative `name`. SourceError with every problem of the file."""
    source = SourceText(name, read_text(path, name))
    closure = Closure(Path(os.path.abspath(root)), include_path, toolkit_include)
    headers = headers_of(source, Path(os.path.abspath(path)).parent, closure)
    texts = [SourceText(header.label, header.text) for header in headers]
    exports, text = read_cuda(source, library, texts, closure.problems)
    return Source(exports, text, CUDA.device_suffix, (path, *(header.path for header in headers)))
