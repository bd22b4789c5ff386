"""The bytes of an entry: read back as they were written, and never anything but an entry or a ValueError."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tilewright.cache.action_result import Entry, Output, decode, encode

NAMES = st.text(st.characters(exclude_characters="/\0", exclude_categories=("Cs",)), min_size=1).filter(
    lambda name: name not in (".", "..")
)
OUTPUTS = st.builds(
    Output, NAMES, st.binary(min_size=32, max_size=32).map(bytes.hex), st.integers(0, 2**60), st.booleans()
)
ENTRIES = st.builds(
    Entry,
    st.lists(OUTPUTS, min_size=1, max_size=5, unique_by=lambda output: output.name).map(tuple),
    st.integers(0, 10**6).map(lambda number: number / 1000),
)


@given(ENTRIES)
def test_an_entry_is_read_back_as_it_was(entry: Entry) -> None:
    assert decode(encode(entry)) == entry


def test_the_bytes_are_those_of_an_action_result() -> None:
    entry = Entry((Output("a.txt", "00" * 32, 300, executable=True),), 2.0)
    digest = b"\x0a\x40" + b"00" * 32 + b"\x10\xac\x02"
    file = b"\x0a\x05a.txt\x12" + bytes([len(digest)]) + digest + b"\x20\x01"
    assert encode(entry) == b"\x12" + bytes([len(file)]) + file + b"\x2a\x0dseconds=2.000"


@given(st.binary(max_size=200))
def test_other_bytes_are_refused(data: bytes) -> None:
    try:
        decode(data)
    except ValueError:
        return


@given(ENTRIES, st.data())
def test_a_damaged_entry_is_an_entry_or_refused(entry: Entry, data: st.DataObject) -> None:
    damaged = bytearray(encode(entry))
    damaged[data.draw(st.integers(0, len(damaged) - 1))] ^= data.draw(st.integers(1, 255))
    try:
        found = decode(bytes(damaged))
    except ValueError:
        return
    assert all("/" not in output.name and len(output.sha256) == 64 for output in found.outputs)


@pytest.mark.parametrize("name", ["", "..", ".", "a/b", "/etc/passwd", "a\0"])
def test_a_name_that_leads_elsewhere_is_refused(name: str) -> None:
    with pytest.raises(ValueError, match="without a name"):
        decode(encode(Entry((Output(name, "00" * 32, 1),))))


def test_two_outputs_of_one_name_and_none_at_all_are_refused() -> None:
    output = Output("a", "00" * 32, 1)
    for entry in (Entry((output, output)), Entry(())):
        with pytest.raises(ValueError, match="without outputs, or with two"):
            decode(encode(entry))
    assert decode(encode(Entry((output,))) + b"\x4a\x02xx\x20\x00").outputs == (output,)  # fields of others are passed
