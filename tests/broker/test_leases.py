"""Times of leases that cannot work together are refused, with what to do."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from broker.leases import LeaseError, Terms
from broker.server.settings import SettingsError
from tests.broker.server.overlay import settings as broker_settings

times = st.floats(0.01, 1000)


@given(times, times, times, st.integers(1, 20))
def test_terms_that_are_taken_renew_in_time_and_recover_later_than_the_last_repair(
    lease_s: float, delay_s: float, refresh_s: float, hops: int
) -> None:
    if lease_s <= refresh_s + 3 * delay_s + lease_s / 100:
        with pytest.raises(LeaseError, match="make the lease longer"):
            Terms(lease_s, delay_s, refresh_s=refresh_s)
        return
    terms = Terms(lease_s, delay_s, refresh_s=refresh_s)
    assert terms.lease_s > terms.refresh_s + (terms.delay_max_s - terms.delay_min_s) + terms.skew_s
    assert terms.recovery_s(hops) > terms.refresh_s + (3 + hops) * terms.delay_max_s
    assert terms.recovery_s(hops + 1) > terms.recovery_s(hops)


def test_a_lease_that_is_too_short_for_the_link_timeout_names_what_it_would_take() -> None:
    with pytest.raises(LeaseError, match=r"--lease 30: a lease must last longer than 37\.8 s"):
        Terms(30, 10)


def test_refreshing_without_a_lease_is_refused() -> None:
    wanted = broker_settings("B1")
    with pytest.raises(SettingsError, match="--lease-refresh is of use only together with --lease"):
        type(wanted)(name="B1", listen=wanted.listen, lease_refresh_s=1)
