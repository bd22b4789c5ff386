"""Every check of the project, in the order of cost: `./sconsw test [pytest arguments]`."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
TOOLS = Path(sys.executable).parent
PYTHON_FILES = ("tools", "tests", "examples", "benchmarks", "site_scons", "setup.py", "sconsw", "SConstruct")


def checks(pytest_arguments: list[str]) -> list[tuple[str, list[str]]]:
    """Name and command of each check; the command runs at the root of the checkout."""
    python = sys.executable
    files = [name for name in PYTHON_FILES if (ROOT / name).exists()]
    return [
        ("format", [str(TOOLS / "ruff"), "format", "--check", "--quiet", *files]),
        ("lint", [str(TOOLS / "ruff"), "check", "--quiet", *files]),
        ("import directions", [str(TOOLS / "lint-imports"), "--no-cache"]),
        ("types", [str(TOOLS / "mypy")]),
        ("golden files", [python, "tests/goldens.py", "--check"]),
        ("tests", [python, "-m", "pytest", "-n", "auto", "--dist", "worksteal", *pytest_arguments]),
    ]


def main(pytest_arguments: list[str]) -> int:
    """Runs all checks, also after a failure, so that one run shows everything; the exit status is 1 if any failed."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "tools"), "PATH": f"{TOOLS}{os.pathsep}{os.environ['PATH']}"}
    failed = []
    for name, command in checks(pytest_arguments):
        print(f"== {name}", flush=True)
        started = time.monotonic()
        if subprocess.run(command, cwd=ROOT, env=environment, check=False).returncode != 0:
            failed.append(name)
            print(f"== {name} FAILED", flush=True)
        else:
            print(f"== {name} ok ({time.monotonic() - started:.0f} s)", flush=True)
    if failed:
        print(f"failed: {', '.join(failed)}", file=sys.stderr)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
