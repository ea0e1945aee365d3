import pytest

from tests.broker.client.scripted import ScriptedBroker


@pytest.fixture
def broker() -> ScriptedBroker:
    return ScriptedBroker()
