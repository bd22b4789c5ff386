"""The two C functions that rustc calls for comparisons of arrays; memcpy and memset are intrinsics already."""

from __future__ import annotations

from tilewright.device.retarget.text import entities

_COMPARE = """define internal i32 @{name}(ptr %a, ptr %b, i64 %n) convergent nounwind {{
start:
  %none = icmp eq i64 %n, 0
  br i1 %none, label %equal, label %loop
loop:
  %at = phi i64 [ 0, %start ], [ %next, %same ]
  %pa = getelementptr inbounds i8, ptr %a, i64 %at
  %pb = getelementptr inbounds i8, ptr %b, i64 %at
  %x = load i8, ptr %pa, align 1
  %y = load i8, ptr %pb, align 1
  %eq = icmp eq i8 %x, %y
  br i1 %eq, label %same, label %differ
same:
  %next = add i64 %at, 1
  %end = icmp eq i64 %next, %n
  br i1 %end, label %equal, label %loop
differ:
  %wx = zext i8 %x to i32
  %wy = zext i8 %y to i32
  %difference = sub i32 %wx, %wy
  ret i32 %difference
equal:
  ret i32 0
}}"""

COMPARISONS = ("memcmp", "bcmp")


def define_comparisons(text: str) -> str:
    """Gives declared `memcmp` and `bcmp` a body."""
    for entity in entities(text).values():
        if entity.kind == "declare" and entity.name in COMPARISONS:
            text = text.replace(entity.lines[0], _COMPARE.format(name=entity.name))
    return text
