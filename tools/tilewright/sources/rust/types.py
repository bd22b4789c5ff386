"""What Rust calls the element types, and what to write instead of other types. Spec: Parameters and the ABI."""

from __future__ import annotations

from difflib import get_close_matches

from tilewright.exports.elements import ElementType

_HINTS = {
    "bool": "write u8 (0 and 1)",
    "char": "write u32, the character's number",
    "usize": "usize has the width of the machine that compiles: write u64 or u32",
    "isize": "isize has the width of the machine that compiles: write i64 or i32",
    "i128": "write two i64 parameters",
    "u128": "write two u64 parameters",
    "f128": "write f64",
    "bf16": "bf16 parameters are not part of this release: write f32",
    "half": "write f16",
    "float": "write f32",
    "double": "write f64",
    "int": "write i32",
}
_CHOICES = f"the element types are {', '.join(element.label for element in ElementType)}"

F16_REASON = "`f16` is not stable in Rust, so a stable rustc refuses it"
F16_HINT = "write f32, or build with nightly_f16=1 (`--nightly-f16`), which compiles with RUSTC_BOOTSTRAP=1"


def element_named(words: str) -> ElementType | None:
    """The element type with that Rust name, or None."""
    return ElementType.named(words)


def hint_for(words: str) -> str:
    """What to write instead of a type that no element has."""
    close = get_close_matches(words, [element.label for element in ElementType], n=1, cutoff=0.75)
    return _HINTS.get(words) or (f"did you mean {close[0]}?" if close and words != close[0] else _CHOICES)
