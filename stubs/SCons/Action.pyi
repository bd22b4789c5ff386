from collections.abc import Callable, Sequence
from typing import Any

execute_actions: int

class ActionBase: ...

def Action(
    act: Callable[..., Any],
    cmdstr: str | Callable[..., str] | None = ...,
    *,
    varlist: Sequence[str] = ...,
) -> ActionBase: ...
