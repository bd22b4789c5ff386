"""`tileexports.json`: what is written, what is read back, and what is refused."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tilewright.exports.description import json_schema, parse_description, read_description, write_description
from tilewright.exports.elements import ElementType
from tilewright.exports.model import Access, ExportSet, Parameter, TileExport
from tilewright.exports.rules import ExportError
from tilewright.problem import Place

ROOT = Path(__file__).parents[2]

RELU = TileExport(
    "relu",
    "relu_impl",
    "relu",
    (
        Parameter("x", ElementType.F32, Access.IN, by_value=True, where=Place("/home/me/relu.cu", 8, 3)),
        Parameter("relu_out", ElementType.F32, Access.OUT, is_return=True),
    ),
    128,
    doc="Elementwise `max(x, 0)`, größer als 0.",
    where=Place("/home/me/relu.cu", 7, 1),
)
LIBRARY = ExportSet("tilelib_relu", (RELU,))

TEXT = """\
{
  "schema": 1,
  "library": "tilelib_relu",
  "exports": [
    {
      "name": "relu",
      "symbol": "relu_impl",
      "function": "relu",
      "tile_shape": 128,
      "sync": "none",
      "arch": [],
      "doc": "Elementwise `max(x, 0)`, größer als 0.",
      "parameters": [
        {
          "name": "x",
          "element": "f32",
          "access": "in",
          "footprint": 1,
          "passing": "value",
          "return": false
        },
        {
          "name": "relu_out",
          "element": "f32",
          "access": "out",
          "footprint": 1,
          "passing": "pointer",
          "return": true
        }
      ]
    }
  ]
}
"""


def refusal(data: bytes | str | dict[str, Any]) -> str:
    """The whole text with which the description is refused."""
    if isinstance(data, dict):
        data = json.dumps(data)
    with pytest.raises(ExportError) as caught:
        parse_description(data if isinstance(data, bytes) else data.encode(), "f.json")
    return str(caught.value)


def test_the_text_of_a_description_is_fixed_and_holds_no_position() -> None:
    assert write_description(LIBRARY).decode() == TEXT


def test_a_description_reads_back_as_the_same_value() -> None:
    assert parse_description(TEXT.encode(), "f.json") == LIBRARY


def test_what_is_read_has_its_json_path_as_position() -> None:
    (export,) = parse_description(TEXT.encode(), "f.json").exports
    assert str(export.where) == "f.json:$.exports[0]"
    assert str(export.parameters[1].where) == "f.json:$.exports[0].parameters[1]"


def test_a_set_that_breaks_a_rule_is_not_written() -> None:
    with pytest.raises(ExportError, match="tile-shape-not-power-of-two"):
        write_description(replace(LIBRARY, exports=(replace(RELU, tile_shape=100),)))


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('"schema": 1', '"schema": 2', "f.json:$.schema: error: the description has schema version 2; this release "),
        ('"schema": 1', '"schema": 0', "schema version 0; this release reads version 1"),
        ('"schema": 1', '"schema": 1.0', "f.json:$.schema: error: expected `int`, got `float`"),
        ('"schema": 1', '"schema": true', "f.json:$.schema: error: expected `int`, got `bool`"),
        ('"schema": 1', '"schema": null', "f.json:$.schema: error: expected `int`, got `null`"),
        ('  "schema": 1,\n', "", "f.json:$: error: object missing required field `schema`"),
        ('"schema": 1,', '"schema": 1, "extra": [],', "f.json:$: error: unknown field `extra`"),
        ('"sync"', '"snyc"', "unknown field `snyc`\n  hint: did you mean `sync`?"),
        ('"footprint": 1,', '"foot\\u001bprint": 1,', "field `foot\\u{1b}print`\n  hint: did you mean `footprint`?"),
        ('"return": true', '"is_return": true', "f.json:$.exports[0].parameters[1]: error: unknown field `is_return`"),
        ('"sync": "none"', '"sync": "cta"', "[0].sync: error: invalid enum value 'cta'\n  hint: one of none, warp"),
        ('"access": "in"', '"access": "read"', "hint: one of in, out, inout"),
        ('"passing": "value"', '"passing": "copy"', "hint: one of value, pointer"),
        ('"f32"', '"bf16"', ".parameters[0].element: error: unknown element type `bf16`\n  hint: one of f16, f32, "),
        ('"f32"', '"bool"', "unknown element type `bool`"),
        (
            '"tile_shape": 128',
            '"tile_shape": "128"',
            "$.exports[0].tile_shape: error: expected `int | null`, got `str`",
        ),
        ('"tile_shape": 128', '"tile_shape": 128.0', "expected `int | null`, got `float`"),
        ('"tile_shape": 128', '"tile_shape": ' + "9" * 30, "tile size (more than 20 digits) is not a power of two"),
        ('"tile_shape": 128', '"tile_shape": ' + "9" * 4000, "tile size (more than 20 digits) is above the largest"),
        (
            '"tile_shape": 128',
            '"tile_shape": ' + "9" * 9000,
            "$.exports[0].tile_shape: error: integer value out of range",
        ),
        ('"footprint": 1', '"footprint": -' + "9" * 4000, "footprint -(more than 20 digits) of `x` is not positive"),
        ('"arch": []', '"arch": "sm_90"', "f.json:$.exports[0].arch: error: expected `array`, got `str`"),
        ('"arch": []', '"arch": [90]', "f.json:$.exports[0].arch[0]: error: expected `str`, got `int`"),
        ('"arch": []', '"arch": null', "f.json:$.exports[0].arch: error: expected `array`, got `null`"),
        ('"return": false', '"return": 0', "parameters[0].return: error: expected `bool`, got `int`"),
        ('"doc": "', '"doc": "\\ud800 ', "the description is not JSON: "),
        ('"doc": "', '"doc": "\\u0000', "holds U+0000 at character 1"),
        ('"name": "x"', '"name": "x){}; evil("', "`x){}; evil(` is not an ASCII identifier [not-an-identifier]"),
    ],
)
def test_a_hand_edited_description_is_refused_with_the_place(old: str, new: str, message: str) -> None:
    assert old in TEXT
    assert message in refusal(TEXT.replace(old, new, 1))


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('"schema": 1', '"schema": 1, "schema": 1', "f.json:$: error: the key `schema` is given twice"),
        ('"name": "relu"', '"name": "a", "name": "relu"', "f.json:$.exports[0]: error: the key `name` is given twice"),
        ('"return": true', '"return": true, "ret\\u0075rn": true', "[0].parameters[1]: error: the key `return`"),
    ],
)
def test_a_repeated_key_is_refused_although_the_last_one_is_right(old: str, new: str, message: str) -> None:
    assert message in refusal(TEXT.replace(old, new, 1))


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "f.json:1:1: error: the description is not JSON: "),
        (b"{}", "f.json:$: error: object missing required field `schema`"),
        (b"[]", "f.json:$: error: expected `object`, got `array`"),
        (b"null", "f.json:$: error: expected `object`, got `null`"),
        (b'{"schema": 1', "f.json:1:13: error: the description is not JSON: "),
        (b"{\n  'schema': 1}", "f.json:2:3: error: the description is not JSON: "),
        (b'{"schema": NaN}', "f.json"),
        (b"\xef\xbb\xbf{}", "f.json:1:1: error: the description is not JSON: "),
        (b'{"schema": "\xff"}', "f.json: error: the description is not UTF-8: byte 12"),
        (TEXT.encode("utf-16"), "f.json: error: the description is not UTF-8: byte 0"),
        (b"[" * 100_000, "f.json: error: the description is nested too deeply"),
        (b'{"a":' * 100_000, "f.json: error: the description is nested too deeply"),
        (b"9" * 10_000, "f.json"),
        (TEXT.encode() + b"{}", "the description is not JSON: "),
    ],
)
def test_what_is_no_description_is_refused(data: bytes, message: str) -> None:
    said = refusal(data)
    assert message in said
    assert "  hint: " in said or "`object`" in said or "f.json:$" in said


def test_every_fault_of_a_description_is_reported_in_order_of_position() -> None:
    document = json.loads(TEXT)
    document["library"] = "a-b"
    document["exports"][0] |= {"tile_shape": 100, "arch": ["gpu"]}
    document["exports"][0]["parameters"][0]["name"] = "fn"
    assert [line.split(":")[1] for line in refusal(document).splitlines() if "error:" in line] == [
        "$.exports[0].arch[0]",
        "$.exports[0].parameters[0].name",
        "$.exports[0].tile_shape",
        "$.library",
    ]


def test_every_unknown_element_type_is_reported_at_once() -> None:
    assert refusal(TEXT.replace('"f32"', '"bf16"')).count("unknown element type `bf16`") == 2


@pytest.mark.parametrize("field", ["name", "symbol", "function", "library", "parameter", "arch", "sync", "key", "doc"])
def test_a_hostile_text_in_any_field_never_reaches_the_terminal_raw(field: str) -> None:
    evil = 'x){}; evil(\x1b[31m`"\u202e'
    document = json.loads(TEXT)
    export = document["exports"][0]
    places: dict[str, Callable[[], None]] = {
        "library": lambda: document.update(library=evil),
        "parameter": lambda: export["parameters"][0].update(name=evil),
        "arch": lambda: export.update(arch=[evil]),
        "key": lambda: export.update({evil: 1}),
    }
    places.get(field, lambda: export.update({field: evil}))()
    assert refusal(document).replace("\n", "").isprintable()


def test_a_file_is_named_as_given(tmp_path: Path) -> None:
    file = tmp_path / "relu.tileexports.json"
    with pytest.raises(ExportError, match=r"relu\.tileexports\.json: error: cannot read the description: No such file"):
        read_description(file)
    file.write_text(TEXT, encoding="utf-8")
    assert read_description(file) == LIBRARY
    with pytest.raises(ExportError, match="cannot read the description: Is a directory"):
        read_description(tmp_path)


def test_the_stored_schema_is_the_generated_one() -> None:
    stored = (ROOT / "docs" / "tileexports.schema.json").read_bytes()
    assert stored == json_schema(), "docs/tileexports.schema.json is stale; rewrite it with ./sconsw golden"


def test_the_schema_names_every_field_and_element_type() -> None:
    schema = json.loads(json_schema())
    records = schema["$defs"]
    assert records["ParameterRecord"]["properties"]["element"]["enum"] == [element.label for element in ElementType]
    document = json.loads(TEXT)
    for record, fields in (
        ("LibraryRecord", document),
        ("ExportRecord", document["exports"][0]),
        ("ParameterRecord", document["exports"][0]["parameters"][0]),
    ):
        assert records[record]["required"] == list(fields)
        required = [name for name in records[record]["properties"] if name not in ("max_ulps", "tile_shapes")]
        assert required == list(fields)
        assert records[record]["additionalProperties"] is False


def test_only_an_export_with_listed_sizes_writes_them() -> None:
    listed = ExportSet("tilelib_relu", (replace(RELU, tile_shape=None, tile_shapes=(128, 64)),))
    data = write_description(listed)
    assert json.loads(data)["exports"][0]["tile_shapes"] == [128, 64]
    assert b"tile_shapes" not in write_description(LIBRARY)
    assert parse_description(data, "a.json") == listed
    none = json.loads(data)
    none["exports"][0]["tile_shapes"] = []
    assert parse_description(json.dumps(none).encode(), "a.json").unlisted()


def test_only_an_export_with_an_error_bound_writes_one() -> None:
    bounded = ExportSet("tilelib_relu", (replace(RELU, max_ulps=4),))
    data = write_description(bounded)
    assert b'"max_ulps": 4' in data
    assert b"max_ulps" not in write_description(LIBRARY)
    assert parse_description(data, "a.json") == bounded
    with pytest.raises(ExportError, match=r"error bound -1 is negative"):
        parse_description(data.replace(b'"max_ulps": 4', b'"max_ulps": -1'), "a.json")
