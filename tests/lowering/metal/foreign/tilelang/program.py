"""What TileLang is given: a matrix product, its tiles staged in threadgroup memory, in three sets of element types."""

import tilelang
import tilelang.language as T
from tvm.target import Target

PACKAGE, LICENSE = "tilelang", "MIT"
M, N, K, BLOCK, DEPTH, THREADS = 32, 64, 48, 32, 16, 128
METAL = {"kind": "metal", "thread_warp_size": 32}


def gemm(factor: str, accumulator: str, result: str):
    """C = A B."""

    @T.prim_func
    def main(
        a: T.Tensor((M, K), factor),
        b: T.Tensor((K, N), factor),
        c: T.Tensor((M, N), result),
    ):
        with T.Kernel(N // BLOCK, M // BLOCK, threads=THREADS) as (x, y):
            left = T.alloc_shared((BLOCK, DEPTH), factor, scope="shared")
            right = T.alloc_shared((DEPTH, BLOCK), factor, scope="shared")
            total = T.alloc_fragment((BLOCK, BLOCK), accumulator)
            T.clear(total)
            for step in T.Pipelined(K // DEPTH, num_stages=0):
                T.copy(a[y * BLOCK, step * DEPTH], left)
                T.copy(b[step * DEPTH, x * BLOCK], right)
                T.gemm(left, right, total)
            T.copy(total, c[y * BLOCK, x * BLOCK])

    return main


def compiled(function, target: dict[str, object]) -> tuple[str, dict[str, int]]:
    """The MSL, and the launch by axis: `blockIdx.x` and so on."""
    chosen = Target(target)
    with chosen:
        artifact = tilelang.lower(function, target=chosen)
    (kernel,) = artifact.device_mod.functions.values()
    return artifact.kernel_source, {axis: int(extent) for axis, extent in kernel.attrs["thread_extent"].items()}


def buffers(factor: str, result: str) -> dict[str, list[object]]:
    return {"a": [factor, [M, K]], "b": [factor, [K, N]], "c": [result, [M, N]]}


single, half = "float32", "float16"
KERNELS = {
    "gemm_f32": (lambda: gemm(single, single, single), METAL, "main_kernel", buffers(single, single)),
    "gemm_f16_f32": (lambda: gemm(half, single, single), METAL, "main_kernel", buffers(half, single)),
    "gemm_f16": (lambda: gemm(half, single, half), METAL, "main_kernel", buffers(half, half)),
}
"""By name: the program, the target, the entry of the MSL, and the buffers in the order of their slots."""
