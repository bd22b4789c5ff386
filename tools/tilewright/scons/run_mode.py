"""What kind of run the command line asks for, and turning keep-going on for this one."""

from __future__ import annotations

from typing import Any

from SCons.Script import GetOption


def cleaning() -> bool:
    """`-c`: outputs are removed."""
    return bool(GetOption("clean"))


def helping() -> bool:
    """`-h`: the build scripts are only read."""
    return bool(GetOption("help"))


def writing() -> bool:
    """Whether this run may change the tree at all: not under `-n`, `-q` or `-h`."""
    return not (GetOption("no_exec") or GetOption("question") or helping())


def only_looking() -> bool:
    """Whether this run builds nothing: `-n`, `-q`, `-h` or `-c`."""
    return cleaning() or not writing()


def keep_going() -> None:
    """As if `-k` were given: what does not depend on a failed step is still made."""
    parser: Any = _parser()
    if parser is not None:
        parser.values.keep_going = True


def jobs() -> int:
    """The number of steps that may run at once (`-j`)."""
    return int(GetOption("num_jobs"))


def _parser() -> Any:
    from SCons.Script import Main

    return Main.OptionsParser
