import gc

from broker.server.collector import undisturbed


def test_nobody_looks_for_garbage_meanwhile_and_everything_is_as_before() -> None:
    seen = [gc.isenabled()]
    with undisturbed():
        seen.append(gc.isenabled())
        with undisturbed():
            seen.append(gc.isenabled())
        seen.append(gc.isenabled())
    seen.append(gc.isenabled())
    assert seen == [True, False, False, False, True]
