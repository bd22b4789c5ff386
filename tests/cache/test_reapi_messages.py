"""The messages of the Remote Execution API, as bytes."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from cache.conftest import key
from tilewright.cache import reapi_messages
from tilewright.cache.reapi_messages import EMPTY, Digest, action_of, capabilities


def test_a_key_is_filed_under_a_whole_action() -> None:
    action = action_of(key("x"))
    assert set(action.blobs) == {Digest.of(data) for data in action.blobs.values()}
    assert len({action_of(key(name)).digest for name in "xyz"}) == 3
    command = b"\x0a\x0atilewright\x0a\x05cache"
    named = Digest.of(command).sha256.encode()
    expected = b"\x0a\x44\x0a\x40" + named + b"\x10\x13" + b"\x12\x42\x0a\x40" + EMPTY.sha256.encode()
    assert action.blobs[action.digest] == expected + b"\x4a\x20" + bytes.fromhex(key("x"))


def test_capabilities_are_read_packed_and_one_by_one() -> None:
    for functions in (b"\x0a\x02\x02\x01", b"\x08\x02\x08\x01"):
        found = capabilities(b"\x0a" + bytes([len(functions) + 3]) + functions + b"\x20\x80\x01" + b"\x12\x00")
        assert (found.sha256, found.updates, found.batch) == (True, False, 128)
    assert not capabilities(b"").sha256


@given(st.sampled_from(["capabilities", "missing", "updated", "read", "streamed", "committed"]), st.binary(max_size=60))
def test_bytes_that_are_no_message_are_refused(reader: str, data: bytes) -> None:
    try:
        getattr(reapi_messages, reader)(data)
    except ValueError:
        return
