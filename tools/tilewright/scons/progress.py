"""What a build prints: whole lines, each in a single write, so that parallel steps cannot glue theirs together."""

from __future__ import annotations

import contextlib
import sys


def say(text: str) -> None:
    """Writes `text` and a newline to standard output in one call; characters it cannot spell are escaped.

    Where nobody reads any more (`| head`, a closed or full output) nothing is said and the build goes on, as with
    SCons's own lines.
    """
    line = text + "\n"
    with contextlib.suppress(OSError, AttributeError):
        try:
            sys.stdout.write(line)
        except UnicodeEncodeError:
            encoding = getattr(sys.stdout, "encoding", None) or "ascii"
            sys.stdout.write(line.encode(encoding, "backslashreplace").decode(encoding))
        sys.stdout.flush()
