"""What a name may look like, the words that are taken, and a free name to offer instead.

Names end up in LLVM IR, CUDA C++, Rust and the Tile IR symbol tables; what all of them accept is an ASCII identifier
that is a keyword of none.
"""

from __future__ import annotations

import re
from collections.abc import Collection

RESERVED_PREFIX = "cuda_oxide_"

EXTENT = "N"
"""The constant parameter of a parametric declaration. Spec: The provider form."""


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


CPP_KEYWORDS = _words(
    """
    alignas alignof and and_eq asm auto bitand bitor bool break case catch char char8_t char16_t char32_t class co_await
    co_return co_yield compl concept const const_cast consteval constexpr constinit continue contract_assert decltype
    default delete do double dynamic_cast else enum explicit export extern false float for friend goto if inline int
    long mutable namespace new noexcept not not_eq nullptr operator or or_eq private protected public register
    reinterpret_cast requires return short signed sizeof static static_assert static_cast struct switch template this
    thread_local throw true try typedef typeid typename union unsigned using virtual void volatile wchar_t while xor
    xor_eq
    """
)

RUST_KEYWORDS = _words(
    """
    Self abstract as async await become box break const continue crate do dyn else enum extern false final fn for gen if
    impl in let loop macro match mod move mut override priv pub ref return self static struct super trait true try type
    typeof unsafe unsized use virtual where while yield
    """
)

_IDENTIFIER = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_COMPILER_NAME = re.compile(r"__|_[A-Z]")
_SIZED_SYMBOL = re.compile(rf"(?P<base>.+)__{EXTENT}[0-9]+", re.DOTALL)
_LONGEST_OFFER = 60


def is_identifier(text: str) -> bool:
    """An ASCII identifier; a lone underscore is a pattern in Rust and names nothing."""
    return _IDENTIFIER.fullmatch(text) is not None and text != "_"


def keyword_languages(text: str) -> tuple[str, ...]:
    """The languages that keep the word for themselves: `("C++", "Rust")` for `static`."""
    tables = (("C++", CPP_KEYWORDS), ("Rust", RUST_KEYWORDS))
    return tuple(language for language, words in tables if text in words)


def is_compiler_name(text: str) -> bool:
    """Names C++ keeps for the compiler: `__device__` and `_Pragma` are not the user's to redefine."""
    return _COMPILER_NAME.match(text) is not None


def sized_base(text: str) -> str:
    """`relu_any_impl` for `relu_any_impl__N128`, the name wanted for one size; empty for any other name."""
    match = _SIZED_SYMBOL.fullmatch(text)
    return match["base"] if match else ""


def sized_name(text: str, size: int) -> str:
    """`relu_any_impl__N128`: the name of one size. Spec: The provider form."""
    return f"{text}__{EXTENT}{size}"


def repaired(text: str, fallback: str) -> str:
    """The nearest name that breaks no rule about single names: `x_evil` for `x){}; evil(`."""
    name = "_".join(re.findall(r"[A-Za-z0-9_]+", text[:_LONGEST_OFFER])).strip("_")
    while name.startswith(RESERVED_PREFIX):
        name = name.removeprefix(RESERVED_PREFIX).lstrip("_")
    if not name:
        return fallback
    if name[0].isdigit():
        name = f"{fallback}_{name}"
    return f"{name}_" if keyword_languages(name) else name


def plain(text: str, fallback: str) -> str:
    """The name itself where it can be printed bare, else a repaired one: for hints about something else."""
    return text if is_identifier(text) else repaired(text, fallback)


def free_name(wanted: str, taken: Collection[str], count: int = 1) -> str:
    """The wanted name with the first number from `count` on that makes it unlike every taken one; 1 is no number."""
    candidate = wanted if count == 1 else f"{wanted}_{count}"
    while candidate in taken:
        count += 1
        candidate = f"{wanted}_{count}"
    return candidate
