"""`tilewright cache`: what a cache folder holds, whether it is sound, and how to make it smaller."""

from __future__ import annotations

from argparse import Namespace
from pathlib import Path

from tilewright.cli.arguments import Option, UsageError, Verb, nearest
from tilewright.problem import Problem

WHAT = ("stat", "verify", "trim")
VERB = Verb(
    "cache",
    "Looks into the folder that a build names with `cache=`: `stat` tells what it holds, `verify` removes what is "
    "rotten, `trim` removes what was not used for longest.",
    "tilewright cache trim --folder ~/.cache/tiles --size 2G",
    (
        Option("--folder", "the cache folder; required", "DIR"),
        Option("--size", "for trim: how much may stay, with k, M, G or T; default 5G", "SIZE"),
    ),
    file="stat|verify|trim",
)


def run(options: Namespace) -> int:
    """Print what was found or done; 1 when `verify` found something rotten.

    UsageError for a folder that is none, and where `trim` may not write.
    """
    from tilewright.cache.local import LocalStore
    from tilewright.cache.tiers import SIZE, size_of

    if options.file not in WHAT:
        hint = nearest(options.file, WHAT) or f"one of {', '.join(WHAT)}"
        raise UsageError([Problem(f"`tilewright cache` cannot `{options.file}`", hint=hint)])
    if options.folder is None:
        raise UsageError([Problem("`tilewright cache` needs the folder of the cache", hint="--folder DIR")])
    if "://" in options.folder:
        what = f"`{options.folder}` is a server, and `tilewright cache {options.file}` looks into a folder"
        hint = "a server keeps and removes what it has by its own rules; `--folder DIR` names the one in front of it"
        raise UsageError([Problem(what, hint=hint)])
    limit = size_of(options.size) if options.size else SIZE
    store = LocalStore(Path(options.folder))
    if not store.folder.is_dir():
        what = f"`{options.folder}` is no cache folder"
        raise UsageError([Problem(what, hint="name the folder that `cache=` names in a build")])
    if options.file == "trim":
        try:
            gone = store.trim(limit)
        except OSError as failure:
            what = f"cannot remove anything from {options.folder}: {failure.strerror or failure}"
            raise UsageError([Problem(what, hint="run it as somebody who may write there")]) from None
        print(f"removed: {gone.entries} entries, {gone.files} outputs, {gone.size} bytes")
    faults = store.faults() if options.file == "verify" else []
    for fault in faults:
        print(f"{'removed' if fault.removed else 'cannot be removed'}: {fault.what}")
    left = store.contents()
    print(f"{options.folder}: {left.entries} entries, {left.files} outputs, {left.size} bytes")
    return 1 if faults else 0
