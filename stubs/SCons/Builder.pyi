from typing import Any

from SCons.Environment import Base
from SCons.Node.FS import File

class BuilderBase:
    def __call__(self, env: Base, target: Any = ..., source: Any = ..., **kw: Any) -> list[File]: ...

def Builder(**kw: Any) -> BuilderBase: ...
