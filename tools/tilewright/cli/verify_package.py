"""`tilewright verify-package`: whether a package is what its manifest says, and safe to unpack."""

from __future__ import annotations

from argparse import Namespace
from pathlib import Path

from tilewright.cli.arguments import Option, UsageError, Verb
from tilewright.cli.files import read_file
from tilewright.problem import Problem

VERB = Verb(
    "verify-package",
    "Checks an archive or a wheel of tile libraries without unpacking it: paths, digests, manifest, and whether every "
    "library and description in it loads.",
    "tilewright verify-package tilelib_relu-1.0.zip --extract vendor",
    (Option("--extract", "unpack the package into this folder afterwards, which must be new or empty", "DIR"),),
    file="FILE",
)


def run(options: Namespace) -> int:
    """Print what the package is; PackageError with everything that is wrong with it."""
    from tilewright.library.publish import publish
    from tilewright.packages.manifest import FILE
    from tilewright.packages.reading import read_archive
    from tilewright.packages.verification import verify_package

    data = read_file(Path(options.file))
    package = verify_package(data, options.file)
    print(f"package verified: {package.line()}")
    if options.extract is None:
        return 0
    folder = Path(options.extract)
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        what = f"`{folder}` is not an empty folder, and a package is unpacked into a new or an empty one"
        raise UsageError([Problem(what, hint="--extract NEW_FOLDER")])
    files = read_archive(data, options.file)
    publish({folder / path: content for path, content in files.items()})
    print(f"unpacked to {folder / package.root} ({len(files)} files, {FILE} among them)")
    return 0
