"""Reads a user's file as text, or says why it is none."""

from __future__ import annotations

from difflib import get_close_matches
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
            what = f"`{name}` is not a regular file"
            raise SourceError([Problem(what, Place(name), hint="write what it gives to a file, and name that")])
        data = path.read_bytes()
    except FileNotFoundError:
        raise SourceError([Problem(f"there is no file `{name}`", Place(name), hint=instead_of(path, name))]) from None
    except IsADirectoryError:
        what = f"`{name}` is a folder, not a source file"
        raise SourceError([Problem(what, Place(name), hint="name the file in it that holds the exports")]) from None
    except OSError as error:
        what = f"cannot read `{name}`: {error.strerror}"
        raise SourceError([Problem(what, Place(name), hint="make it a readable file, or name another")]) from None
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        before = data[: error.start]
        where = Place(name, before.count(b"\n") + 1)
        what = f"the file is not UTF-8 text: byte 0x{data[error.start]:02x}"
        raise SourceError([Problem(what, where, hint="save it as UTF-8")]) from None
    if "\0" in text:
        where = Place(name, text[: text.index("\0")].count("\n") + 1)
        what = "the file holds a NUL byte, so it is no source text"
        raise SourceError([Problem(what, where, hint="delete it, or save the file as UTF-8 if it is UTF-16")])
    return text


def instead_of(path: Path, name: str) -> str:
    """A hint for a file that is missing: the file of the nearest name beside it; `name` is its name in messages."""
    try:
        beside = [file.name for file in path.parent.iterdir() if file.is_file() and file.name.isprintable()]
    except OSError:
        return f"there is no folder `{path.parent}` either: create the file, or name another"
    near = get_close_matches(path.name, beside, n=1, cutoff=0.75)
    return f"did you mean `{name.removesuffix(path.name)}{near[0]}`?" if near else "create it, or name another file"
