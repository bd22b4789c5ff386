"""Hypothesis strategies for module values, wider than what any export needs."""

from __future__ import annotations

from hypothesis import strategies as st

from tilewright.bytecode.attributes import (
    Access,
    Array,
    ConcreteType,
    ConstParam,
    Dictionary,
    MemorySpace,
    ScratchRequest,
    String,
    Synchronization,
)
from tilewright.bytecode.expressions import (
    Add,
    Builtin,
    CeilDiv,
    ConstStr,
    Div,
    FloorDiv,
    Int,
    Layout,
    Mul,
    Neg,
    Sub,
    SymbolicTuple,
    Var,
)
from tilewright.bytecode.module import Module
from tilewright.bytecode.plain_types import CONST_PARAM_TYPES, PlainType
from tilewright.bytecode.records import Argument, Declaration, Implementation
from tilewright.bytecode.types import Fragment, Function, SymbolicElement, Tile

texts = st.text(st.characters(codec="utf-8"), max_size=8)
numbers = st.integers(-(1 << 62), 1 << 62)
leaves = st.one_of(
    st.builds(Int, numbers),
    st.builds(Var, texts),
    st.builds(ConstStr, texts),
    st.builds(Builtin, texts.map("context.".__add__)),
)


def _larger(parts: st.SearchStrategy) -> st.SearchStrategy:  # type: ignore[type-arg]
    binary = [st.builds(kind, parts, parts) for kind in (Mul, Div, Add, Sub, FloorDiv, CeilDiv)]
    return st.one_of(*binary, st.builds(Neg, parts), st.builds(SymbolicTuple, st.lists(parts, max_size=3).map(tuple)))


expressions = st.recursive(leaves, _larger, max_leaves=5)
tuples = st.lists(expressions, max_size=3).map(lambda parts: SymbolicTuple(tuple(parts)))
layouts = st.builds(Layout, tuples, tuples)
elements = st.one_of(
    st.sampled_from([kind for kind in PlainType if kind.is_element]), st.builds(SymbolicElement, st.builds(Var, texts))
)
tiles = st.builds(Tile, elements, tuples)
fragments = st.builds(Fragment, tuples, elements, st.sampled_from(MemorySpace), layouts, layouts, expressions)
types = st.one_of(st.sampled_from(PlainType), elements, tiles, fragments)
functions = st.builds(Function, st.lists(types, max_size=3).map(tuple), st.lists(types, max_size=2).map(tuple))
const_params = st.builds(ConstParam, texts, st.sampled_from(CONST_PARAM_TYPES))
scratch_requests = st.builds(ScratchRequest, expressions, expressions)


def _containers(items: st.SearchStrategy) -> st.SearchStrategy:  # type: ignore[type-arg]
    return st.one_of(
        st.lists(items, max_size=3).map(lambda values: Array(tuple(values))),
        st.dictionaries(texts, items, max_size=3).map(lambda entries: Dictionary(tuple(entries.items()))),
    )


attributes = st.recursive(
    st.one_of(
        expressions,
        layouts,
        st.builds(String, texts),
        st.builds(ConcreteType, st.one_of(types, functions)),
        const_params,
        scratch_requests,
        st.sampled_from([*Access, *MemorySpace, *Synchronization]),
    ),
    _containers,
    max_leaves=4,
)
dictionaries = st.dictionaries(texts, attributes, max_size=2).map(lambda entries: Dictionary(tuple(entries.items())))


def _arguments(kinds: st.SearchStrategy) -> st.SearchStrategy:  # type: ignore[type-arg]
    return st.lists(st.builds(Argument, kinds, st.sampled_from(Access), texts), max_size=3).map(tuple)


declarations = st.builds(
    Declaration, texts, _arguments(types), st.lists(types, max_size=3).map(tuple), st.lists(const_params).map(tuple)
)
implementations = st.builds(
    Implementation,
    texts,
    texts,
    _arguments(types),
    const_params=st.lists(const_params, max_size=2).map(tuple),
    const_args=st.lists(expressions, max_size=2).map(tuple),
    scratch_smem=st.none() | scratch_requests,
    arch=st.lists(texts, max_size=2).map(tuple),
    frontend_abi=st.none() | dictionaries,
    synchronization=st.none() | st.sampled_from(Synchronization),
    provider_score=st.none() | st.integers(-(1 << 63), (1 << 63) - 1),
)
modules = st.builds(
    Module,
    st.sampled_from([(13, 5), (13, 6), (14, 0)]),
    st.lists(declarations, max_size=3).map(tuple),
    st.lists(implementations, max_size=3).map(tuple),
    texts,
)
