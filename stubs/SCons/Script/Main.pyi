from typing import Any

class _Parser:
    values: Any

OptionsParser: _Parser | None

def GetBuildFailures() -> list[Any]: ...
