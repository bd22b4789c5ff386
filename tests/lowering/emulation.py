"""Runs emitted CUDA C on the host: g++ behind a shim, threads as loops. Evidence made with it is "CPU-emulated"."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from needed_tools import needed
from tilewright.lowering.artifact import DeviceArtifact

SHIM = """
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
struct Place { unsigned x, y, z; };
static Place blockIdx, threadIdx;
struct alignas(16) float4 { float x, y, z, w; };
static inline float4 make_float4(float x, float y, float z, float w) { return {x, y, z, w}; }
static inline float __int_as_float(unsigned bits) { float value; memcpy(&value, &bits, 4); return value; }
static inline double __longlong_as_double(long long bits) { double value; memcpy(&value, &bits, 8); return value; }
#define __global__
#define __launch_bounds__(threads)
"""

CASE = """
#define {entry} kernel_{number}
{source}
#undef {entry}
static void run_{number}(float** slot) {{
  for (unsigned b = 0; b < {blocks}; ++b)
    for (unsigned t = 0; t < {threads}; ++t) {{
      blockIdx = {{b, 0, 0}}; threadIdx = {{t, 0, 0}};
      kernel_{number}({arguments});
    }}
}}
"""

MAIN = """
static void (*const cases[])(float**) = {{{cases}}};
int main(int count, char** words) {{
  int slots = (count - 2) / 2;
  float *memory[32], *slot[32];
  for (int i = 0; i < slots; ++i) {{
    FILE* file = fopen(words[2 + 2 * i], "rb");
    fseek(file, 0, SEEK_END); long size = ftell(file); rewind(file);
    memory[i] = (float*)aligned_alloc(16, (size + 15) / 16 * 16);
    slot[i] = memory[i] + atoi(words[3 + 2 * i]);
    if (fread(memory[i], 1, size, file) != (size_t)size) return 3;
    fclose(file);
  }}
  cases[atoi(words[1])](slot);
  for (int i = 0; i < slots; ++i) {{
    FILE* file = fopen(words[2 + 2 * i], "r+b");
    fseek(file, 0, SEEK_END); long size = ftell(file); rewind(file);
    fwrite(memory[i], 1, size, file); fclose(file); free(memory[i]);
  }}
  return 0;
}}
"""


def build(artifacts: Sequence[DeviceArtifact], folder: Path) -> Path:
    """One program for the whole launches of several artifacts."""
    text = SHIM
    for number, artifact in enumerate(artifacts):
        slots = len(artifact.buffer_arguments)
        text += CASE.format(
            number=number,
            entry=artifact.entry,
            source=artifact.source,
            blocks=artifact.grid[0],
            threads=artifact.block[0],
            arguments=", ".join(f"slot[{slot}]" for slot in range(slots)),
        )
    text += MAIN.format(cases=", ".join(f"run_{number}" for number in range(len(artifacts))))
    source = folder / "kernels.cpp"
    source.write_text(text)
    program = folder / "kernels"
    command = [needed("g++"), "-std=c++17", "-O0", "-w", "-fsanitize=address,undefined", "-fno-sanitize-recover=all"]
    done = subprocess.run([*command, source, "-o", program], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return program


def launch(
    program: Path, number: int, memory: Sequence[NDArray[np.float32]], offsets: Sequence[int], folder: Path
) -> list[NDArray[np.float32]]:
    """Contents of every buffer after the launch; slot i starts `offsets[i]` elements into `memory[i]`."""
    files = [folder / f"slot{place}" for place in range(len(memory))]
    for file, data in zip(files, memory, strict=True):
        file.write_bytes(data.tobytes())
    words = [str(word) for pair in zip(files, offsets, strict=True) for word in pair]
    done = subprocess.run([program, str(number), *words], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return [np.fromfile(file, np.float32) for file in files]
