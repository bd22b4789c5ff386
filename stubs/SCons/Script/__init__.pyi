from typing import Any

ARGUMENTS: dict[str, str]
ARGLIST: list[tuple[str, str]]
COMMAND_LINE_TARGETS: list[str]
sconscript_reading: int

def GetOption(name: str) -> Any: ...
def GetLaunchDir() -> str: ...
