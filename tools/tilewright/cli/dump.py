"""`tilewright dump`: a module of a tile library as readable Tile IR."""

from __future__ import annotations

from argparse import Namespace
from pathlib import Path

from tilewright.cli.arguments import Option, Verb
from tilewright.cli.files import read_file

VERB = Verb(
    "dump",
    "Shows an interface or implementation module as readable Tile IR.",
    "tilewright dump build/sm_120/relu/relu.iface.tilebc",
    (
        Option(
            "--name",
            "name of the module, which the file does not hold; default: the file's name up to the first dot",
            "NAME",
        ),
    ),
    file="FILE.tilebc",
)


def run(options: Namespace) -> int:
    """Print the module."""
    from tilewright.bytecode.reader import read_module
    from tilewright.bytecode.text import print_module

    file = Path(options.file)
    module = read_module(read_file(file), options.file)
    print(print_module(module, options.name or file.name.partition(".")[0] or "module"), end="")
    return 0
