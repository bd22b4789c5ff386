"""Distribution `scons-tilelib`. `sconsw` reads the requirement lists below to make its environment."""

from pathlib import Path

from setuptools import find_packages, setup

BASE = [
    "scons>=4.8",
    "llvmlite>=0.50",
    "cuda-python>=13.0,<14",
    "jinja2>=3.1",
    "msgspec>=0.20",
    "packaging>=24.2",
    "filelock>=3.16",
    "numpy>=2.0",
    "tree-sitter>=0.25",
    "tree-sitter-cuda>=0.21",
    "tree-sitter-rust>=0.24",
]

EXTRAS = {
    "toolkit": [
        "nvidia-cuda-nvcc~=13.5.0",
        "nvidia-cuda-tileiras~=13.5.0",
        "nvidia-cuda-nvrtc~=13.5.0",
        "nvidia-cuda-crt~=13.5.0",
        "nvidia-cuda-runtime~=13.5.0",
        "nvidia-nvvm~=13.5.0",
        "nvidia-nvjitlink~=13.5.0",
        "nvidia-cuda-cccl>=13.3,<14",
    ],
    "remote": [
        "grpcio>=1.60",
    ],
    "metal": [
        'pyobjc-framework-Metal>=12; sys_platform == "darwin"',
    ],
    "dev": [
        "pytest>=8",
        "pytest-xdist>=3.6",
        "hypothesis>=6.100",
        "ruff>=0.17,<0.18",
        "mypy>=2.4,<2.5",
        "import-linter>=2.1",
        "nvidia-cuda-nvdisasm~=13.5.0",
        "ninja>=1.11",
        "meson>=1.4",
        "cuda-tile>=1.7",
        "spdx-tools>=0.8.3",
        "grpcio>=1.60",
        'buildstream>=2.8; sys_platform == "linux" and platform_machine == "x86_64"',
    ],
}

DATA = ["py.typed", "**/*.j2", "**/*.h", "**/*.cuh", "**/*.c", "**/*.cpp", "**/*.cu"]
"""What the package reads besides its modules, in every folder."""

CRATES = ["crates/Cargo.*", "crates/*/Cargo.toml", "crates/*/src/*.rs", "crates/*/src/*/*.rs"]
"""The crates that Rust exports are written with; `crates` is a link to the folder `rust`."""


def stated_version() -> str:
    """The version that the package states, read without importing it."""
    text = Path(__file__).with_name("tools").joinpath("tilewright/__init__.py").read_text(encoding="utf-8")
    return next(line.split('"')[1] for line in text.splitlines() if line.startswith("__version__ = "))


if __name__ == "__main__":
    setup(
        name="scons-tilelib",
        version=stated_version(),
        description="An SCons plugin that builds tile libraries and tile shaders",
        long_description=Path(__file__).with_name("README.md").read_text(encoding="utf-8"),
        long_description_content_type="text/markdown",
        license="Apache-2.0",
        python_requires=">=3.11",
        package_dir={"": "tools"},
        packages=find_packages("tools"),
        package_data={"tilewright": DATA, "tilewright.sources.rust": CRATES},
        install_requires=BASE,
        extras_require=EXTRAS,
        entry_points={"console_scripts": ["tilewright = tilewright.cli:main"]},
    )
