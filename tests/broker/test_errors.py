import inspect
import pickle

import pytest

from broker import ConcordError, FilterError, errors

MORE: dict[type[ConcordError], tuple[object, ...]] = {
    errors.ConnectionFailedError: ("B:1",),
    errors.BrokerFaultError: ("auth",),
    errors.RefusedError: ("not-allowed",),
    errors.PublisherEndedError: ("not-advertised",),
    errors.SubscriptionEndedError: ("other",),
    errors.SlowSubscriberError: ("slow",),
    errors.GapError: (3,),
}
CLASSES = [each for _, each in inspect.getmembers(errors, inspect.isclass)]


@pytest.mark.parametrize("kind", CLASSES)
def test_every_error_is_a_concord_error_and_comes_out_of_another_process_as_it_went_in(
    kind: type[ConcordError],
) -> None:
    error = kind("what was wrong", *MORE.get(kind, ()))
    again = pickle.loads(pickle.dumps(error))  # noqa: S301 - made right here
    assert isinstance(again, ConcordError)
    assert type(again) is kind
    assert str(again) == "what was wrong"
    assert vars(again) == vars(error)


def test_a_filter_that_cannot_be_read_is_a_concord_error() -> None:
    assert issubclass(FilterError, ConcordError)
