"""`tilewright build`: the six artifacts of a tile library, for build systems other than SCons."""

from __future__ import annotations

import os
import re
import shlex
import sys
from argparse import Namespace
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from tilewright.cli.arguments import Option, UsageError, Verb
from tilewright.cli.depfile import make_rule
from tilewright.cli.provider import ProviderForm, check_abi, provider_command
from tilewright.problem import Problem

if TYPE_CHECKING:
    from tilewright.device.module import DeviceModule
    from tilewright.exports.model import ExportSet
    from tilewright.sources.front_end import Source
    from tilewright.toolchain.toolkit import Toolkit

VERB = Verb(
    "build",
    "Builds a tile library from one source file.",
    "tilewright build relu.cu --arch sm_120 --print",
    (
        Option("--arch", "architectures to build for, with commas between; required", "A[,B]"),
        Option("--name", "name of the library; default: the source file's name without suffix", "NAME"),
        Option("--ltoir-arch", "make the device code for this older architecture, such as compute_75", "ARCH"),
        Option(
            "--tile-shapes",
            "tile sizes that the library carries of every export that has neither tile_shape nor a list of its own",
            "N[,N]",
        ),
        Option("--nightly-f16", "admit f16 in Rust, which a stable rustc compiles with RUSTC_BOOTSTRAP=1 only"),
        Option("--provider", "make the provider form, which serves every tile size; needs a C compiler"),
        Option(
            "--provider-abi",
            "with --provider: `observed`, tilewright's own declaration of the assembler's undocumented provider ABI",
            "ABI",
        ),
        Option("--print", "print the descriptions as readable Tile IR"),
        Option("--library-optional", "exit 0 when the assembler is too old to make the library"),
        Option(
            "--output",
            "the .tilelib file, the other artifacts go beside it; default: build/<arch>/<name>/<name>.tilelib",
            "PATH",
            short="-o",
        ),
        Option("--depfile", "write what was read as a Make rule, for Make and Ninja", "FILE"),
        Option("--include", "search this folder for user headers; may be repeated", "DIR", repeated=True),
    ),
    file="FILE",
)

SKIPPED = 2
PROVIDER = "--provider"


@dataclass(frozen=True, slots=True)
class Project:
    """The source file and the folder that names in messages and in device code are relative to.

    That is the working directory where the file is in it, else the file's own folder.
    """

    file: Path
    include_path: tuple[Path, ...]
    nightly_f16: bool = False

    @property
    def root(self) -> Path:
        """The project's folder, absolute."""
        here, file = Path.cwd(), Path(os.path.abspath(self.file))
        return here if file.is_relative_to(here) else file.parent

    def read(self, library: str, toolkit: Toolkit) -> Source:
        """The exports and the device code of the file."""
        from tilewright.sources.front_end import read_source

        return read_source(
            self.file,
            root=self.root,
            library=library,
            include_path=self.include_path,
            toolkit_include=toolkit.include,
            nightly_f16=self.nightly_f16,
        )

    def device_module(self, source: Source, toolkit: Toolkit) -> DeviceModule:
        """What the device compiler gets."""
        from tilewright.sources.front_end import project_name, translation_unit
        from tilewright.sources.languages import language_of

        name = project_name(self.file, self.root)
        return translation_unit(
            language_of(self.file, name),
            source.device_text,
            origin=name,
            root=self.root,
            include_path=self.include_path,
            toolkit_include=toolkit.include,
        )


@dataclass(frozen=True, slots=True)
class Artifacts:
    """Where the six files of one architecture go."""

    library: Path
    folder: Path
    name: str

    def beside(self, suffix: str) -> Path:
        """The artifact with that suffix."""
        return self.folder / f"{self.name}{suffix}"

    @property
    def inputs(self) -> dict[str, Path]:
        """The files that the library is packed from, by what they are."""
        suffixes = {"interface": ".iface.tilebc", "implementation": ".impl.tilebc", "ltoir": ".ltoir"}
        return {role: self.beside(suffix) for role, suffix in suffixes.items()}

    @property
    def paths(self) -> tuple[Path, ...]:
        """All six."""
        return (
            self.library,
            self.beside(".tileexports.json"),
            self.beside(".tilelib.mlir"),
            *self.inputs.values(),
        )


def run(options: Namespace) -> int:
    """Build for every architecture, publish all files at once, then print what happened."""
    from tilewright.library import messages
    from tilewright.library.publish import publish
    from tilewright.toolchain.toolkit import resolve

    name = _library_name(options)
    check_abi(options)
    toolkit = resolve(os.environ)
    plan = _plan(options, name, toolkit)
    ltoir_arch = _ltoir_architecture(options, plan, toolkit)
    project = Project(Path(options.file), tuple(map(Path, options.include)), options.nightly_f16)
    source = _listed(project.read(name, toolkit), options)
    _refuse_clashes(options, plan, source)
    _refuse_unserved(source, plan, ltoir_arch, toolkit)
    built = _build(project, source, plan, ltoir_arch, toolkit, provider=options.provider)
    if options.depfile:
        built.contents[Path(options.depfile)] = _rule(plan, source)
    stale = [each.library for each in plan.values() if each.library not in built.contents and each.library.exists()]
    publish(built.contents)

    used = [f"the toolkit is {toolkit.root} ({toolkit.origin})"] if options.verbose else []
    for note in (*used, *toolkit.notes, *built.notes):
        print(f"note: {note}", file=sys.stderr)
    for warning in built.warnings:
        print(warning, file=sys.stderr)
    if not options.provider and (line := messages.left_out(source.exports, sizes="--tile-shapes", provider=PROVIDER)):
        print(line)
    if options.print:
        print(built.text, end="")
    for artifacts in plan.values():
        print(messages.written_summary(built.exports, toolkit.bytecode_version()))
        if artifacts.library in built.contents:
            print(shlex.join(_command(artifacts, toolkit, provider=options.provider)))
            print(messages.written_to(artifacts.library))
        elif options.provider:
            print(messages.skipped_provider(toolkit))
        else:
            print(messages.skipped(toolkit, **artifacts.inputs, library=artifacts.library))
    for library in stale:
        print(f"note: {library} is of an earlier build, it does not hold what was written now", file=sys.stderr)
    complete = all(artifacts.library in built.contents for artifacts in plan.values())
    return 0 if complete or options.library_optional else SKIPPED


def _command(artifacts: Artifacts, toolkit: Toolkit, *, provider: bool) -> list[str]:
    """What packs the library, with the paths of the artifacts."""
    from tilewright.library.static import pack_command

    if provider:
        return provider_command(toolkit, artifacts.inputs["interface"], artifacts.library)
    return pack_command(toolkit, **artifacts.inputs, output=artifacts.library)


def _listed(source: Source, options: Namespace) -> Source:
    """The source with the sizes of `--tile-shapes` where it lists none."""
    from tilewright.exports.sizes import parse_sizes, with_sizes

    sizes = parse_sizes(options.tile_shapes or "", option="--tile-shapes ")
    return replace(source, exports=with_sizes(source.exports, sizes))


@dataclass(frozen=True, slots=True)
class Built:
    """The files to write, the exports that the descriptions hold and their text; our notes, the compiler's warnings."""

    contents: dict[Path, bytes]
    exports: ExportSet
    text: str
    notes: tuple[str, ...]
    warnings: tuple[str, ...]


def _build(
    project: Project,
    source: Source,
    plan: Mapping[str, Artifacts],
    ltoir_arch: str,
    toolkit: Toolkit,
    *,
    provider: bool,
) -> Built:
    from tilewright.bytecode.modules import modules_of
    from tilewright.device.ltoir import make_ltoir
    from tilewright.device.workers import Workers
    from tilewright.exports.description import write_description
    from tilewright.library.crosscheck import crosscheck
    from tilewright.library.static import pack, shipped

    exports = source.exports
    if not provider:
        exports = shipped(exports, sizes="--tile-shapes 64,128", provider=PROVIDER)
    version = toolkit.bytecode_version()
    modules = modules_of(exports, version=version)
    note = crosscheck(exports, version, toolkit)
    warnings = [source.warnings] if source.warnings else []
    unit = project.device_module(source, toolkit)
    contents: dict[Path, bytes] = {}
    packs = bool(toolkit.assembler and toolkit.assembler.can_pack)
    form = ProviderForm(unit, source.exports, toolkit) if provider and packs else None
    with Workers(1) as workers:
        made: dict[str, bytes] = {}
        for arch, artifacts in plan.items():
            target = ltoir_arch or arch
            if target not in made:
                made[target] = make_ltoir(
                    unit, source.exports, arch=target, toolkit=toolkit, workers=workers, warn=warnings.append
                )
            contents |= {
                artifacts.beside(".ltoir"): made[target],
                artifacts.beside(".tileexports.json"): write_description(source.exports),
                artifacts.beside(".iface.tilebc"): modules.interface,
                artifacts.beside(".impl.tilebc"): modules.implementation,
                artifacts.beside(".tilelib.mlir"): modules.text.encode(),
            }
            if form:
                contents[artifacts.library] = form.pack(made[target], target, workers)
            elif packs:
                contents[artifacts.library] = pack(
                    modules.interface, modules.implementation, made[target], stem=artifacts.name, toolkit=toolkit
                )
    notes = (note,) if note else ()
    return Built(contents, exports, modules.text, notes, tuple(dict.fromkeys(warnings)))


def _library_name(options: Namespace) -> str:
    name = str(options.name or Path(options.file).name.partition(".")[0])
    if name.isascii() and name.isidentifier():
        return name
    example = "".join(letter if letter.isascii() and letter.isalnum() else "_" for letter in name).strip("_")
    if not example or example[0].isdigit():
        example = f"lib_{example}".rstrip("_")
    raise UsageError(
        [Problem(what=f"the library name `{name}` is not an ASCII identifier", hint=f"choose one: --name {example}")]
    )


def _plan(options: Namespace, name: str, toolkit: Toolkit) -> dict[str, Artifacts]:
    """The artifacts of each architecture asked for, in that order."""
    from tilewright.toolchain.architectures import parse_architectures

    if options.arch is None:
        choices = ", ".join(toolkit.architectures()) or "none: no assembler and no NVRTC was found"
        what = "--arch is required: the LTOIR inside a library is built for one architecture"
        raise UsageError([Problem(what=what, hint=f"choices: {choices}")])
    with _variables_as_options():
        architectures = parse_architectures(options.arch, toolkit)
    if options.output is None:
        folders = {arch: Path("build", arch, name) for arch in architectures}
        return {arch: Artifacts(folder / f"{name}.tilelib", folder, name) for arch, folder in folders.items()}
    if len(architectures) > 1:
        what = f"-o names one file, and {len(architectures)} architectures are built: {', '.join(architectures)}"
        raise UsageError([Problem(what=what, hint="leave -o out, or run once an architecture with its own -o")])
    library = Path(options.output)
    if options.output.endswith("/") or library.is_dir():
        hint = f"name the file: -o {library / name}.tilelib"
        raise UsageError([Problem(what=f"-o names the folder `{options.output}`", hint=hint)])
    return {architectures[0]: Artifacts(library, library.parent, name)}


@contextmanager
def _variables_as_options() -> Iterator[None]:
    """What is said of the SCons variable `arch=sm_90` is said of the option `--arch sm_90` instead."""
    from tilewright.toolchain.error import ToolchainError

    try:
        yield
    except ToolchainError as error:
        raise UsageError(
            replace(problem, what=_with_options(problem.what), hint=_with_options(problem.hint))
            for problem in error.problems
        ) from error


def _with_options(text: str) -> str:
    return re.sub(r"\b(ltoir_)?arch=", lambda variable: "--ltoir-arch " if variable[1] else "--arch ", text)


def _ltoir_architecture(options: Namespace, plan: Mapping[str, Artifacts], toolkit: Toolkit) -> str:
    """The architecture of the device code when it is not that of the library; empty without the option."""
    from tilewright.toolchain.architectures import parse_ltoir_architecture

    if options.ltoir_arch is None:
        return ""
    with _variables_as_options():
        return parse_ltoir_architecture(options.ltoir_arch, toolkit, archs=tuple(plan))


def _refuse_unserved(source: Source, plan: Mapping[str, Artifacts], ltoir_arch: str, toolkit: Toolkit) -> None:
    """Every export must be of use to some architecture in each of the libraries."""
    from tilewright.exports.architectures import unserved
    from tilewright.exports.rules import ExportError

    known = toolkit.architectures()
    made_for = dict.fromkeys(ltoir_arch or arch for arch in plan)
    if problems := [problem for arch in made_for for problem in unserved(source.exports, arch, known=known)]:
        raise ExportError(problems)


def _rule(plan: Mapping[str, Artifacts], source: Source) -> bytes:
    """The text of the depfile: the libraries depend on every file that was read."""
    targets = [str(artifacts.library) for artifacts in plan.values()]
    sources = [os.path.relpath(path) for path in source.dependencies]
    return os.fsencode(make_rule(targets, sources))


def _refuse_clashes(options: Namespace, plan: Mapping[str, Artifacts], source: Source) -> None:
    """No output may be a source or another output."""
    written = [path for artifacts in plan.values() for path in artifacts.paths]
    written += [Path(options.depfile)] if options.depfile else []
    sources = {path.resolve() for path in source.dependencies}
    seen: set[Path] = set()
    problems = []
    for path in written:
        if path.resolve() in sources:
            hint = "give -o or --depfile a name that no source has"
            problems.append(Problem(what=f"`{path}` is a source, the build would overwrite it", hint=hint))
        elif path.resolve() in seen:
            problems.append(Problem(what=f"`{path}` would be written twice", hint="give -o and --depfile other names"))
        seen.add(path.resolve())
    if problems:
        raise UsageError(problems)
