import pytest

from broker.core.tables import TableView
from broker.messages import Publication
from harness.benchmarks.detection import edge_broker, run_large, run_paper
from harness.tables import table_of


@pytest.mark.parametrize(("percent", "met"), [(25, 1), (50, 2), (100, 4)])
def test_a_publication_meets_the_given_part_of_everything_here_and_behind_the_link(
    percent: int, met: int
) -> None:
    broker = edge_broker(16, percent)
    view = TableView(broker.tables)
    matching = view.matching(Publication("p", 1, {"symbol": "X", "price": 1.5}, ordered=True, frame=b""), 0)
    assert len(matching) == 2 * met
    assert sum(each.hop == broker.uplink.bit for each in matching) == met
    assert sum(a.filter.overlaps(matching[0].filter) for a in view.advertisements()) == 2 * met


def test_every_point_has_its_figures_and_the_fast_form_deserves_its_name() -> None:
    large = run_large((20,), (3,))
    (paper,) = run_paper((60,), (100,))
    assert [row.place for row in large] == ["links", "local"]
    assert all(min(row.route_ns, row.unexposed_ns, row.exposed_ns, row.conflict_ns) > 0 for row in large)
    assert paper.pairwise_us < paper.fast_us < paper.progressive_us
    assert table_of(large).text().splitlines()[2].split()[:3] == ["20", "local", "3"]
    assert len(table_of([paper]).text().splitlines()) == 2
