"""What is advised is the best tree where that is known, and gains what was expected."""

import pytest

from harness.reshaping.advising import CASES, AdvisedCase, advised


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_a_case_ends_in_a_tree_as_good_as_its_best_one(case: AdvisedCase) -> None:
    figures = advised(case)
    advice, after = figures.advice, figures.after
    assert {each.broker: each.uplink for each in after.traffic} == advice.uplinks
    assert (after.travelled, after.waited) == (figures.best.travelled, figures.best.waited)
    for expected, found in ((advice.before, figures.before), (advice.after, after)):
        assert found.travelled == pytest.approx(expected.travelled / expected.deliveries)
        assert found.waited == pytest.approx(expected.waited / expected.deliveries)
    assert advice.link_s == pytest.approx(1.0), "a link takes one round"
