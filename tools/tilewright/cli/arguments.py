"""Options as rows: a verb lists them once, and parsing, help and suggestions follow from the rows."""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from typing import NoReturn

from tilewright.problem import Problem, ProblemError


class UsageError(ProblemError):
    """A command line that says something the command does not know."""


@dataclass(frozen=True, slots=True)
class Option:
    """One option: `--name`, what it does, the name of its value (none: a switch), its short form."""

    name: str
    sentence: str
    value: str = ""
    short: str = ""
    repeated: bool = False

    @property
    def key(self) -> str:
        """The attribute that holds it after parsing: `--library-optional` is `library_optional`."""
        return self.name.lstrip("-").replace("-", "_")

    @property
    def spellings(self) -> tuple[str, ...]:
        """Short form first, as help shows them."""
        return (self.short, self.name) if self.short else (self.name,)


@dataclass(frozen=True, slots=True)
class Verb:
    """One command: `file` names its positional argument (none: it takes no file), `example` is a line to paste."""

    name: str
    sentence: str
    example: str
    options: tuple[Option, ...] = ()
    file: str = ""


EVERYWHERE = (
    Option("--verbose", "say which toolkit is used, and show the traceback of an internal error"),
    Option("--help", "show this text", short="-h"),
)


def parse(verb: Verb, arguments: Sequence[str]) -> argparse.Namespace | None:
    """The options of `verb`, one attribute a row and `file`; None when help was asked for and printed."""
    rows = (*verb.options, *EVERYWHERE)
    parser = _Parser(
        prog=f"tilewright {verb.name}",
        usage=f"tilewright {verb.name}" + (f" {verb.file}" if verb.file else "") + " [options]",
        description=verb.sentence,
        epilog=f"example:\n  {verb.example}",
        formatter_class=_Layout,
        add_help=False,
        allow_abbrev=False,
    )
    if verb.file:
        parser.add_argument("file", nargs="?", metavar=verb.file, help=argparse.SUPPRESS)
    for row in rows:
        text = row.sentence.replace("%", "%%")
        if not row.value:
            parser.add_argument(*row.spellings, action="store_true", help=text, dest=row.key)
        elif row.repeated:
            parser.add_argument(*row.spellings, action="append", default=[], metavar=row.value, help=text, dest=row.key)
        else:
            parser.add_argument(*row.spellings, metavar=row.value, help=text, dest=row.key)
    options, unknown = parser.parse_known_args(list(arguments))
    if options.help:
        print(parser.format_help().rstrip("\n"))
        return None
    spellings = [spelling for row in rows for spelling in row.spellings]
    problems = list(_unknown(verb, unknown, spellings))
    if not problems and verb.file and options.file is None:
        problems = [Problem(what=f"`tilewright {verb.name}` needs a {verb.file}", hint=verb.example)]
    if problems:
        raise UsageError(problems)
    return options


def nearest(word: str, known: Iterable[str]) -> str:
    """A hint with the closest known spelling; empty when none is close."""
    close = get_close_matches(word, list(known), n=1)
    return f"did you mean `{close[0]}`?" if close else ""


def _unknown(verb: Verb, words: Sequence[str], known: Sequence[str]) -> Iterable[Problem]:
    options = [word.partition("=")[0] for word in words if word.startswith("-")]
    for option in options:
        hint = nearest(option, known) or f"`tilewright {verb.name} --help` lists the options"
        yield Problem(what=f"unknown option `{option}`", hint=hint)
    if not options:
        for word in words:
            yield Problem(what=f"unexpected argument `{word}`", hint=f"example: {verb.example}")


class _Layout(argparse.RawDescriptionHelpFormatter):
    def __init__(self, prog: str) -> None:
        super().__init__(prog, max_help_position=30, width=110)


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise UsageError([Problem(what=message, hint=f"`{self.prog} --help` lists the options")])
