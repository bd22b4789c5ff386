"""The Jinja2 templates of this room, in which an undefined name is an error."""

from __future__ import annotations

from pathlib import Path

ROOM = Path(__file__).parent


def rendered(template: str, **values: object) -> str:
    """The text of a template, named relative to this room: `mock/caller.cu.j2`."""
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    environment = Environment(
        loader=FileSystemLoader(ROOM),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        autoescape=False,
    )
    return environment.get_template(template).render(**values)
