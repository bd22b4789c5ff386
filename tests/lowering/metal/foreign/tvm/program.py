"""What TVM is given: a softmax and a matrix product as tensor expressions, and how to spread them over threads."""

from __future__ import annotations

import tvm
from tvm import s_tir, te
from tvm.target import Target

PACKAGE, LICENSE = "apache-tvm", "Apache-2.0"
ROWS, COLUMNS, THREADS = 3, 300, 128
M, N, K, BLOCK, DEPTH, PART = 40, 36, 24, 16, 8, 2

Planned = tuple[s_tir.Schedule, s_tir.schedule.SBlockRV]
"""A schedule, and the block that writes the result: its loops are bound to every axis of the launch."""


def softmax() -> Planned:
    """A threadgroup a row; maximum and sum are reduced across its threads."""
    x = te.placeholder((ROWS, COLUMNS), "float32", name="x")
    k, n = te.reduce_axis((0, COLUMNS), "k"), te.reduce_axis((0, COLUMNS), "n")
    top = te.compute((ROWS,), lambda i: te.max(x[i, k], axis=k), name="top")
    power = te.compute((ROWS, COLUMNS), lambda i, j: te.exp(x[i, j] - top[i]), name="power")
    total = te.compute((ROWS,), lambda i: te.sum(power[i, n], axis=n), name="total")
    y = te.compute((ROWS, COLUMNS), lambda i, j: power[i, j] / total[i], name="y")
    plan = scheduled(te.create_prim_func([x, y]), "softmax")
    plan.compute_inline(plan.get_sblock("power"))
    row, column = plan.get_loops(plan.get_sblock("y"))
    plan.bind(row, "blockIdx.x")
    plan.bind(plan.split(column, [None, THREADS])[1], "threadIdx.x")
    for name in ("total", "top"):
        block = plan.get_sblock(name)
        plan.compute_at(block, row, preserve_unit_loops=True)
        plan.set_scope(block, 0, "shared")
        plan.bind(plan.split(plan.get_loops(block)[-1], [None, THREADS])[1], "threadIdx.x")
    return plan, plan.get_sblock("y")


def gemm() -> Planned:
    """Blocks of both factors go through threadgroup memory; no extent is a multiple of the block."""
    a, b = te.placeholder((M, K), "float32", name="a"), te.placeholder((K, N), "float32", name="b")
    k = te.reduce_axis((0, K), "k")
    c = te.compute((M, N), lambda i, j: te.sum(a[i, k] * b[k, j], axis=k), name="c")
    plan = scheduled(te.create_prim_func([a, b, c]), "gemm")
    block = plan.get_sblock("c")
    result = plan.cache_write(block, 0, "local")
    i, j, k = plan.get_loops(block)
    by, ty, i = plan.split(i, [None, BLOCK // PART, PART])
    bx, tx, j = plan.split(j, [None, BLOCK // PART, PART])
    step, k = plan.split(k, [None, DEPTH])
    plan.reorder(by, bx, ty, tx, step, k, i, j)
    for loop, tag in ((by, "blockIdx.y"), (bx, "blockIdx.x"), (ty, "threadIdx.y"), (tx, "threadIdx.x")):
        plan.bind(loop, tag)
    plan.reverse_compute_at(result, tx)
    for factor in (0, 1):
        staged = plan.cache_read(block, factor, "shared")
        plan.compute_at(staged, step)
        row, column = plan.get_loops(staged)[-2:]
        _, ty, tx = plan.split(plan.fuse(row, column), [None, BLOCK // PART, BLOCK // PART])
        plan.bind(ty, "threadIdx.y")
        plan.bind(tx, "threadIdx.x")
    plan.decompose_reduction(block, step)
    return plan, result


def scheduled(function, name: str) -> s_tir.Schedule:
    plan = s_tir.Schedule(tvm.IRModule({name: function.with_attr("global_symbol", name)}))
    plan.work_on(name)
    return plan


def metal(warp: int) -> dict[str, object]:
    return {"kind": "metal", "thread_warp_size": warp, "max_threads_per_block": 256}


def compiled(planned: Planned, target: dict[str, object]) -> tuple[str, dict[str, int]]:
    """The MSL, and the launch by axis: `blockIdx.x` and so on."""
    plan, block = planned
    loops = [plan.get(loop) for loop in plan.get_loops(block)]
    extents = {loop.thread_binding.thread_tag: int(loop.extent) for loop in loops if loop.thread_binding is not None}
    return tvm.compile(plan.mod, Target(target, host="llvm")).mod.imports[0].inspect_source(), extents


rows = {"x": ["float32", [ROWS, COLUMNS]], "y": ["float32", [ROWS, COLUMNS]]}
factors = {"a": ["float32", [M, K]], "b": ["float32", [K, N]], "c": ["float32", [M, N]]}
KERNELS = {
    "softmax_32": (softmax, metal(32), "softmax_kernel", rows),
    "softmax_16": (softmax, metal(16), "softmax_kernel", rows),
    "gemm": (gemm, metal(32), "gemm_kernel", factors),
}
"""By name: the program, the target, the entry of the MSL, and the buffers in the order of their slots."""
