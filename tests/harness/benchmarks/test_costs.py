from harness.benchmarks.costs import PLUGINS, run
from harness.tables import table_of


def test_every_plugin_is_counted_in_the_same_way() -> None:
    rows = {row.plugin: row for row in run(40)}
    assert list(rows) == list(PLUGINS)
    assert rows["fifo"].requests == rows["fifo"].deferred == 0
    assert rows["pairwise"].disagreements_percent == rows["sequencer"].disagreements_percent == 0
    assert rows["published fast"].metadata_bytes == 0 < rows["published basic"].metadata_bytes
    assert all(row.detection_us > 0 for row in rows.values())
    for name in ("pairwise", "sequencer"):
        assert rows[name].requests == rows[name].acknowledgements > 0
        assert rows[name].deferred_max >= rows[name].deferred_mean > 0
    assert len({len(line) for line in table_of(list(rows.values())).text().splitlines()}) == 1
