import pytest
from hypothesis import given
from hypothesis import strategies as st

from broker.addresses import Address, parse_address

HOSTS = st.one_of(
    st.from_regex(r"[a-z0-9]([a-z0-9.-]{0,20}[a-z0-9])?", fullmatch=True),
    st.ip_addresses().map(str),
)


@given(HOSTS, st.integers(0, 65_535))
def test_an_address_reads_back_from_its_own_text(host: str, port: int) -> None:
    assert parse_address(str(Address(host, port))) == Address(host, port)


@pytest.mark.parametrize(
    "text", ["", "7411", "localhost", "localhost:", ":7411", "a b:1", "::1:7411", "h:-1"]
)
def test_text_of_another_shape_is_refused_with_an_example(text: str) -> None:
    with pytest.raises(ValueError, match=r"is not HOST:PORT, for example 127\.0\.0\.1:7411"):
        parse_address(text)


def test_a_port_beyond_the_last_is_refused_with_the_limit() -> None:
    with pytest.raises(ValueError, match="port 65536, but ports end at 65535"):
        parse_address("localhost:65536")


def test_a_port_of_many_digits_is_refused_shortly() -> None:
    with pytest.raises(ValueError, match=r"port 111111111111, but ports end") as caught:
        parse_address("localhost:" + "1" * 5000)
    assert "port 1111" in str(caught.value)


@pytest.mark.parametrize(
    ("text", "is_dialable"),
    [("0.0.0.0:7411", False), ("[::]:7411", False), ("b1.example:0", False), ("b1.example:7411", True)],
)
def test_an_address_for_all_interfaces_cannot_be_dialled(text: str, is_dialable: bool) -> None:  # noqa: FBT001 - a parameter
    assert parse_address(text).is_dialable is is_dialable
