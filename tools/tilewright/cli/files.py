"""Files named on the command line."""

from __future__ import annotations

from pathlib import Path

from tilewright.cli.arguments import UsageError
from tilewright.problem import Problem


def read_file(path: Path) -> bytes:
    """The bytes of a regular file; UsageError when it cannot be read."""
    try:
        if path.exists() and not path.is_file():
            what = f"cannot read `{path}`: it is not a regular file"
            raise UsageError([Problem(what, hint="name a file" if path.is_dir() else "write it to a file first")])
        return path.read_bytes()
    except FileNotFoundError as failure:
        from tilewright.sources.text import instead_of

        what = f"cannot read `{path}`: {failure.strerror}"
        raise UsageError([Problem(what, hint=instead_of(path, str(path)))]) from failure
    except (OSError, ValueError) as failure:
        reason = getattr(failure, "strerror", None) or str(failure)
        hint = "make it a readable file, or name another"
        raise UsageError([Problem(what=f"cannot read `{path}`: {reason}", hint=hint)]) from failure
