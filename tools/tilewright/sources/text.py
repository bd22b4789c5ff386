"""Reads a user's file as text, or says why it is none."""

from __future__ import annotations

from pathlib import Path

from tilewright.exports.spelling import printable
from tilewright.problem import Place, Problem
from tilewright.sources.source import SourceError


def read_text(path: Path, name: str) -> str:
    """The text of a file, line ends as they are, a byte order mark dropped. `name` stands in messages and in `#line`.

    Raises SourceError when there is no such file, it is a folder or a pipe, cannot be read, or is not UTF-8 text; and
    for a name that is not UTF-8 or has control characters, which no line of code could hold.
    """
    if not name.isprintable():
        shown = printable(name, len(name))
        what = "the name of the file or its folder has characters that are no text"
        raise SourceError([Problem(what, Place(shown), hint="rename it: the name is written into the device code")])
    try:
        if path.exists() and not (path.is_file() or path.is_dir()):  # reading a pipe would wait for ever
            raise SourceError([Problem(f"`{name}` is not a regular file", Place(name))])
        data = path.read_bytes()
    except FileNotFoundError:
        raise SourceError([Problem(f"there is no file `{name}`", Place(name))]) from None
    except IsADirectoryError:
        raise SourceError([Problem(f"`{name}` is a folder, not a source file", Place(name))]) from None
    except OSError as error:
        raise SourceError([Problem(f"cannot read `{name}`: {error.strerror}", Place(name))]) from None
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        before = data[: error.start]
        where = Place(name, before.count(b"\n") + 1)
        what = f"the file is not UTF-8 text: byte 0x{data[error.start]:02x}"
        raise SourceError([Problem(what, where, hint="save it as UTF-8")]) from None
    if "\0" in text:
        where = Place(name, text[: text.index("\0")].count("\n") + 1)
        raise SourceError([Problem("the file holds a NUL byte, so it is no source text", where)])
    return text
