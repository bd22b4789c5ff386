"""Manual memory: an object and the linear states that order the accesses to it."""

from __future__ import annotations

from tilewright.tileir.graph import Operation, Value
from tilewright.tileir.vocabulary import Kind


class Alloc(Operation):
    """`memory.alloc() [resource r] [layout map] : memory, state`: contents undefined until the first store."""

    kind = Kind.ALLOC

    @property
    def memory(self) -> Value:
        return self.results[0]

    @property
    def state(self) -> Value:
        return self.results[1]


class MemoryLoad(Operation):
    """`memory.load(memory, state) : tile`: snapshot of the whole object."""

    kind = Kind.MEMORY_LOAD

    @property
    def memory(self) -> Value:
        return self.operands[0]

    @property
    def state(self) -> Value:
        return self.operands[1]


class MemoryStore(Operation):
    """`memory.store(memory, state, tile) : state`: writes the whole object; only the new state is valid after it."""

    kind = Kind.MEMORY_STORE

    @property
    def memory(self) -> Value:
        return self.operands[0]

    @property
    def state(self) -> Value:
        return self.operands[1]

    @property
    def stored(self) -> Value:
        return self.operands[2]


OPERATIONS = (Alloc, MemoryLoad, MemoryStore)
