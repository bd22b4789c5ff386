"""The build variables: one row each, from which reading, checking, help and the reference are made.

Every variable also answers to `tilelib_<name>`, which wins: in a larger build `arch` may mean something else.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from tilewright.problem import Problem
from tilewright.scons.errors import BuildScriptError

PREFIX = "tilelib_"
YES = ("1", "yes", "true", "on")
NO = ("0", "no", "false", "off", "")


@dataclass(frozen=True, slots=True)
class Variable:
    """One row: `kind` is `text`, `flag`, `choice` or `command`; `choices` says in words what may be written.

    Those of a `choice` are the words in backquotes.
    """

    name: str
    kind: str
    default: str
    choices: str
    sentence: str
    since: str = "0.1"


VARIABLES = (
    Variable(
        "arch",
        "text",
        "",
        "what the assembler lists; `sm_120`, `120`, `sm_120a` and `compute_120` are the same; several with commas",
        "The GPU architectures to build for. Required for everything that is built for one architecture.",
    ),
    Variable(
        "backends",
        "text",
        "cuda",
        "`cuda`, `metal`, or both with a comma",
        "The backends of each tile shader whose script names none. MSL goes to `build/metal/` and needs no `arch`.",
    ),
    Variable(
        "metal",
        "choice",
        "optional",
        "`optional` or `required`",
        "Whether a `MetalLibrary` that cannot be made here, as on every system but macOS, is skipped or an error.",
    ),
    Variable(
        "print",
        "flag",
        "0",
        "0 or 1",
        "Shows the readable form of the descriptions after the build, also when everything is up to date.",
    ),
    Variable(
        "library_optional",
        "flag",
        "0",
        "0 or 1",
        "A library that the assembler cannot pack is no failure: its target becomes `<lib>.tilelib.skipped`.",
    ),
    Variable(
        "ltoir_arch",
        "text",
        "",
        "what NVRTC lists, not newer than any `arch`, such as `compute_75`",
        "The architecture of the device code inside a library, when it shall be older than `arch`.",
    ),
    Variable(
        "tile_shapes",
        "text",
        "",
        "powers of two with commas, such as `64,128,256`",
        "The tile sizes that a library carries of each export that has neither `tile_shape` nor a list of its own.",
    ),
    Variable(
        "nightly_f16",
        "flag",
        "0",
        "0 or 1",
        "Admits `f16` in Rust, which a stable rustc compiles with RUSTC_BOOTSTRAP=1 only; the device code says so.",
    ),
    Variable(
        "rust_backend",
        "choice",
        "stable",
        "`stable` or `oxide`",
        "What compiles Rust: a stable rustc, or for crates `cargo oxide tilelib`, whose files are checked and adopted.",
    ),
    Variable(
        "provider",
        "flag",
        "0",
        "0 or 1",
        "Makes libraries in the provider form, which serves every tile size; needs `provider_abi` and a C compiler.",
    ),
    Variable(
        "provider_abi",
        "text",
        "",
        "`observed`",
        "With `provider=1`: which declaration of the assembler's undocumented provider ABI is built against.",
    ),
    Variable(
        "cache",
        "text",
        "",
        "a folder, the address of a server (`http://`, `https://`, `grpc://` or `grpcs://`), or both with a comma",
        "Outputs of our steps are taken from this cache where it has them, and added to it. Nothing else is cached.",
    ),
    Variable(
        "cache_write",
        "flag",
        "0",
        "0 or 1",
        "Adds what is made to the cache at an address, too; a folder is always added to.",
    ),
    Variable(
        "cache_size",
        "text",
        "",
        "a number with k, M, G or T; 5G when it is not given",
        "How much the folder may hold: at the end of a build, what was not used for longest is removed.",
    ),
    Variable(
        "launcher",
        "command",
        "",
        "a command line, split as a shell does",
        "A command that every heavy step is run behind, as a command of its own. Equal bytes: nothing is made again.",
    ),
    Variable(
        "verbose",
        "flag",
        "0",
        "0 or 1",
        "Prints the resolved toolkit, and the compiler's command in place of the one-line message.",
    ),
)


TARGETS = {
    "verify": "Calls every export of each `TileMockCaller`'s library on the GPU and compares the results.",
    "verify-emulate": "The same on the CPU.",
    "check-metal": "Compiles the MSL of every shader and runs it on the CPU, against FP64; needs no `arch`.",
    "package": "Writes the archives of each `TilePackage`.",
}
"""The aliases that builders declare."""


@dataclass(frozen=True, slots=True)
class Settings:
    """The values of one environment's build variables, one field a row."""

    arch: str = ""
    backends: str = "cuda"
    metal: str = "optional"
    print: bool = False
    library_optional: bool = False
    ltoir_arch: str = ""
    tile_shapes: str = ""
    nightly_f16: bool = False
    rust_backend: str = "stable"
    provider: bool = False
    provider_abi: str = ""
    cache: str = ""
    cache_write: bool = False
    cache_size: str = ""
    launcher: str = ""
    verbose: bool = False


def read_settings(*layers: Mapping[str, Any]) -> Settings:
    """The settings from `layers`, the strongest first; BuildScriptError names every value that does not fit.

    A prefixed name in any layer beats a short one in every layer.
    """
    values: dict[str, Any] = {}
    problems: list[Problem] = []
    for variable in VARIABLES:
        names = (PREFIX + variable.name, variable.name)
        given = next(((name, layer[name]) for name in names for layer in layers if name in layer), None)
        if given is None:
            continue
        try:
            values[variable.name] = convert(variable, *given)
        except BuildScriptError as error:
            problems.extend(error.problems)
    if problems:
        raise BuildScriptError(problems)
    return Settings(**values)


def overridden(settings: Settings, given: Mapping[str, Any]) -> Settings:
    """The settings with what one call of a method gives by the names of the variables."""
    own = read_settings(given)
    return replace(settings, **{name: getattr(own, name) for name in given})


def convert(variable: Variable, name: str, value: Any) -> str | bool:
    """One value as its row wants it: text without outer blanks, a list joined by commas, a flag as bool.

    The words of a command come out quoted, as a shell takes them.
    """
    if variable.kind == "command":
        return _command(name, value)
    if variable.kind == "flag":
        text = str(int(value) if isinstance(value, bool) else value).strip().lower()
        if text not in YES + NO:
            raise BuildScriptError([Problem(f"`{name}={value}` is neither yes nor no", hint=f"{name}=1 or {name}=0")])
        return text in YES
    if isinstance(value, (list, tuple)):
        return ",".join(str(item).strip() for item in value)
    text = str(value).strip()
    if variable.kind == "choice" and text not in re.findall(r"`(\w+)`", variable.choices):
        raise BuildScriptError([Problem(f"`{name}={text}` is not known", hint=f"{name} is {variable.choices}")])
    return text


def _command(name: str, value: Any) -> str:
    if value == "":
        return ""
    try:
        words = [str(word) for word in value] if isinstance(value, (list, tuple)) else shlex.split(str(value))
    except ValueError as error:
        what = f"`{name}={value}` is no command line: {str(error)[:1].lower()}{str(error)[1:]}"
        raise BuildScriptError.of(what, f"{name}='./run.sh --option' for a command with options") from None
    if not words or not words[0].strip():
        raise BuildScriptError.of(f"`{name}={value}` names no command", f"leave `{name}` out to run nothing in front")
    return shlex.join(words)


def known_names() -> tuple[str, ...]:
    """Every spelling of every variable."""
    return tuple(prefix + variable.name for prefix in ("", PREFIX) for variable in VARIABLES)


def check_command_line(known: Iterable[str] = ()) -> None:
    """BuildScriptError for variables on SCons's command line that are unknown, or given twice with other values."""
    from SCons.Script import ARGLIST

    problems = unknown_variables([name for name, _ in ARGLIST], known) + contradictions(ARGLIST)
    if problems:
        raise BuildScriptError(problems)


def named_on_command_line(variable: str) -> bool:
    """Whether SCons's command line gives one of our variables, in either spelling."""
    from SCons.Script import ARGUMENTS

    return variable in ARGUMENTS or PREFIX + variable in ARGUMENTS


def unknown_variables(given: Iterable[str], known: Iterable[str] = ()) -> list[Problem]:
    """A problem for each name in `given` that is neither ours nor in `known`, with the nearest spelling."""
    import difflib

    names = (*known_names(), *known)
    listing = ", ".join([variable.name for variable in VARIABLES] + sorted(known))
    problems = []
    for name in dict.fromkeys(given):
        if name in names:
            continue
        nearest = next(iter(difflib.get_close_matches(name.lower(), names, n=1, cutoff=0.6)), "")
        hint = (f"did you mean `{nearest}`?\n" if nearest else "") + f"the variables are: {listing}"
        problems.append(Problem(f"there is no build variable `{name}`", hint=hint))
    return problems


def contradictions(given: Iterable[tuple[str, str]]) -> list[Problem]:
    """A problem for each of our variables that is given two values; SCons would silently take the last."""
    values: dict[str, list[str]] = {}
    for name, value in given:
        if name in known_names() and value not in values.setdefault(name, []):
            values[name].append(value)
    problems = []
    for name, several in values.items():
        if len(several) > 1:
            hint = (
                f"{name}={','.join(several)}"
                if name.endswith(("arch", "backends", "tile_shapes"))
                else f"{name}={several[-1]}"
            )
            problems.append(Problem(f"`{name}` is given more than once: {' and '.join(several)}", hint=hint))
    return problems


def add_options(variables: Any) -> None:
    """Adds the rows to an SCons `Variables` object."""
    for row in VARIABLES:
        variables.Add((PREFIX + row.name, row.name), f"{row.sentence} ({row.choices})", row.default)


def help_text() -> str:
    """One paragraph a variable, and a line for each target that has a name of its own."""
    lines = ["Tile library variables (each also as tilelib_<name>):"]
    for row in VARIABLES:
        lines += [f"  {row.name}=  {row.sentence}", f"      {row.choices}"]
    lines += ["", "Targets, where the scripts declare what they are for:"]
    lines += [f"  {name}  {sentence}" for name, sentence in TARGETS.items()]
    return "\n".join(lines) + "\n"


def variables_reference() -> str:
    """The rows as a Markdown table."""
    lines = ["| variable | default | values | meaning | since |", "| --- | --- | --- | --- | --- |"]
    for row in VARIABLES:
        default = f"`{row.default}`" if row.default else "none"
        lines.append(f"| `{row.name}` | {default} | {row.choices} | {row.sentence} | {row.since} |")
    return "\n".join(lines) + "\n"
