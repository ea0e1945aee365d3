import gc

from broker.server.collector import undisturbed


def test_garbage_collection_is_off_meanwhile_and_restored_afterwards() -> None:
    seen = [gc.isenabled()]
    with undisturbed():
        seen.append(gc.isenabled())
        with undisturbed():
            seen.append(gc.isenabled())
        seen.append(gc.isenabled())
    seen.append(gc.isenabled())
    assert seen == [True, False, False, False, True]
