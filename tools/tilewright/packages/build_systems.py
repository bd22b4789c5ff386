"""What CMake and pkg-config read of a package, to compile and link Tile C++ with its libraries."""

from __future__ import annotations

from collections.abc import Sequence

from packaging.version import InvalidVersion, Version

from tilewright.packages.layout import HEADERS, LIBRARIES
from tilewright.packages.naming import PackageSpec

_CONFIG = """\
# Written by tilewright; do not edit.
# find_package({name}) gives the imported target {name}::{name}: headers, libraries and options of nvcc.
# Set CUDA_STANDARD 20 on what links it: CMake puts its own -std last.
# The architecture is {name}_ARCH, TILELIB_ARCH or the only one of CMAKE_CUDA_ARCHITECTURES, in this order.
get_filename_component(_{name}_prefix "${{CMAKE_CURRENT_LIST_DIR}}/../../.." ABSOLUTE)
set({name}_ARCHITECTURES {architectures})

set(_{name}_arch "${{{name}_ARCH}}")
if(NOT _{name}_arch)
  set(_{name}_arch "${{TILELIB_ARCH}}")
endif()
if(NOT _{name}_arch AND CMAKE_CUDA_ARCHITECTURES MATCHES "^([0-9]+)(-real)?$")
  set(_{name}_arch "sm_${{CMAKE_MATCH_1}}")
endif()
if(NOT _{name}_arch IN_LIST {name}_ARCHITECTURES)
  set({name}_FOUND FALSE)
  set({name}_NOT_FOUND_MESSAGE
    "the package has no libraries for the architecture '${{_{name}_arch}}'; set TILELIB_ARCH to one of: {choices}")
  return()
endif()

set({name}_INCLUDE_DIR "${{_{name}_prefix}}/{headers}")
{libraries}
foreach(_{name}_library IN LISTS {name}_LIBRARIES)
  if(NOT EXISTS "${{_{name}_library}}")
    set({name}_FOUND FALSE)
    set({name}_NOT_FOUND_MESSAGE "the package is incomplete: there is no ${{_{name}_library}}")
    return()
  endif()
endforeach()

# A library is read while CUDA is compiled, and no depfile names it: what is compiled with it is told its digest.
if(NOT TARGET {name}::{name})
  add_library({name}::{name} INTERFACE IMPORTED)
  set_target_properties({name}::{name} PROPERTIES
    INTERFACE_INCLUDE_DIRECTORIES "${{{name}_INCLUDE_DIR}}"
    INTERFACE_COMPILE_OPTIONS "$<$<COMPILE_LANGUAGE:CUDA>:--enable-tile;--tile-preview=simt;-std=c++20>")
  set(_{name}_digests)
  foreach(_{name}_library IN LISTS {name}_LIBRARIES)
    set_property(TARGET {name}::{name} APPEND PROPERTY
      INTERFACE_COMPILE_OPTIONS "$<$<COMPILE_LANGUAGE:CUDA>:-Xtileiras=-l=${{_{name}_library}}>")
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${{_{name}_library}}")
    file(SHA256 "${{_{name}_library}}" _{name}_digest)
    string(APPEND _{name}_digests "${{_{name}_digest}}")
  endforeach()
  string(SHA256 _{name}_digest "${{_{name}_digests}}")
  set_property(TARGET {name}::{name} APPEND PROPERTY
    INTERFACE_COMPILE_DEFINITIONS "$<$<COMPILE_LANGUAGE:CUDA>:{name}_SHA256=${{_{name}_digest}}>")
endif()
"""

_VERSION = """\
# Written by tilewright; do not edit.
set(PACKAGE_VERSION "{version}")
if(PACKAGE_VERSION VERSION_LESS PACKAGE_FIND_VERSION OR NOT "{major}" STREQUAL "${{PACKAGE_FIND_VERSION_MAJOR}}")
  set(PACKAGE_VERSION_COMPATIBLE FALSE)
  if(NOT PACKAGE_FIND_VERSION)
    set(PACKAGE_VERSION_COMPATIBLE TRUE)
  endif()
else()
  set(PACKAGE_VERSION_COMPATIBLE TRUE)
  if(PACKAGE_VERSION VERSION_EQUAL PACKAGE_FIND_VERSION)
    set(PACKAGE_VERSION_EXACT TRUE)
  endif()
endif()
"""

_PKG_CONFIG = """\
# Written by tilewright; do not edit. Another architecture: --define-variable=arch=...
prefix=${{pcfiledir}}/../..
arch={arch}
libdir=${{prefix}}/{libraries}/${{arch}}

Name: {name}
Description: Tile libraries {listing} for {choices}
Version: {version}
Cflags: --enable-tile --tile-preview=simt -std=c++20 -I${{prefix}}/{headers} {options}
"""


def build_system_files(spec: PackageSpec, libraries: Sequence[str], architectures: Sequence[str]) -> dict[str, bytes]:
    """The CMake package configuration with its version, and the `.pc` file, by their path in the package."""
    name = spec.identifier
    listed = "\n".join(
        f'list(APPEND {name}_LIBRARIES "${{_{name}_prefix}}/{LIBRARIES}/${{_{name}_arch}}/{library}.tilelib")'
        for library in libraries
    )
    config = _CONFIG.format(
        name=name,
        architectures=" ".join(architectures),
        choices=", ".join(architectures),
        headers=HEADERS,
        libraries=f"set({name}_LIBRARIES)\n{listed}",
    )
    release = _release(spec.version)
    version = _VERSION.format(version=release, major=release.partition(".")[0])
    pc = _PKG_CONFIG.format(
        arch=architectures[0],
        libraries=LIBRARIES,
        name=name,
        listing=", ".join(libraries),
        choices=", ".join(architectures),
        version=spec.version,
        headers=HEADERS,
        options=" ".join(f"-Xtileiras=-l=${{libdir}}/{library}.tilelib" for library in libraries),
    )
    texts = {
        f"lib/cmake/{name}/{name}-config.cmake": config,
        f"lib/cmake/{name}/{name}-config-version.cmake": version,
        f"lib/pkgconfig/{name}.pc": pc,
    }
    return {path: text.encode() for path, text in texts.items()}


def _release(version: str) -> str:
    """The numbers of a version, all that CMake compares."""
    try:
        return ".".join(map(str, Version(version).release))
    except InvalidVersion:
        return version.partition("-")[0].partition("+")[0]
