"""Times of leases that cannot work together are refused, with what to do."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from broker.leases import REFRESHES, LeaseError, Terms
from broker.server.settings import SettingsError
from tests.broker.server.overlay import settings as broker_settings

times = st.floats(0.01, 1000)


@given(times, times, times, st.integers(1, 20))
def test_what_is_wrong_expires_within_a_lease_and_everything_is_right_some_delays_later(
    lease_s: float, delay_s: float, refresh_s: float, hops: int
) -> None:
    if lease_s < refresh_s:
        with pytest.raises(LeaseError, match="make the lease longer, or renew more often"):
            Terms(lease_s, delay_s, refresh_s=refresh_s)
        return
    terms = Terms(lease_s, delay_s, refresh_s=refresh_s)
    assert terms.missed_renewals_max >= 1
    assert terms.missed_renewals_max * terms.refresh_s <= terms.lease_s * 1.000001
    assert terms.recovery_s(hops) > terms.lease_s + (3 + hops) * terms.delay_max_s
    assert terms.recovery_s(hops + 1) > terms.recovery_s(hops)


def test_a_lease_is_renewed_four_times_unless_something_else_is_asked_for() -> None:
    assert Terms(60, 10).refresh_s == 15
    assert Terms(60, 10).missed_renewals_max == REFRESHES
    assert Terms(60, 10, refresh_s=7).missed_renewals_max == 8


def test_a_lease_may_be_shorter_than_links_stall() -> None:
    assert Terms(4.2, 10).refresh_s < 10


def test_a_lease_that_does_not_last_for_one_renewal_is_refused() -> None:
    with pytest.raises(LeaseError, match=r"--lease 30: .* --lease-refresh asks for one every 40 s"):
        Terms(30, 10, refresh_s=40)


def test_refreshing_without_a_lease_is_refused() -> None:
    wanted = broker_settings("B1")
    with pytest.raises(SettingsError, match="--lease-refresh is of use only together with --lease"):
        type(wanted)(name="B1", listen=wanted.listen, lease_refresh_s=1)
