"""Files named on the command line."""

from __future__ import annotations

from pathlib import Path

from tilewright.cli.arguments import UsageError
from tilewright.problem import Problem


def read_file(path: Path) -> bytes:
    """The bytes of a regular file; UsageError when it cannot be read."""
    try:
        if path.exists() and not path.is_file():
            raise UsageError([Problem(what=f"cannot read `{path}`: it is not a regular file")])
        return path.read_bytes()
    except (OSError, ValueError) as failure:
        reason = getattr(failure, "strerror", None) or str(failure)
        raise UsageError([Problem(what=f"cannot read `{path}`: {reason}")]) from failure
