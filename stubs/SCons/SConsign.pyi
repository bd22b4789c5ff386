from typing import Any

class Base:
    def get_entry(self, filename: str) -> Any: ...
