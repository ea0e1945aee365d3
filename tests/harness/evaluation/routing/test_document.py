import pytest
from attrs import asdict, evolve

from harness.analysis.points import MeasuredPoint
from harness.evaluation.routing.document import BEGIN, END, EvaluationPageError, document, in_place
from harness.evaluation.routing.references import CURVES
from tests.harness.evaluation.routing.points import all_points, point

POINTS = list(all_points())


def row(page: str, start: str) -> list[str]:
    (line,) = [each for each in page.splitlines() if each.startswith(f"| {start}")]
    return [cell.strip() for cell in line.strip("|").split("|")]


def changed(study: str, **values: object) -> list[MeasuredPoint]:
    return [MeasuredPoint(**(asdict(each) | values)) if each.study == study else each for each in POINTS]


def test_what_is_exact_is_equal_or_said_to_be_off() -> None:
    assert row(document(POINTS), "simple: entries")[1:] == ["106.00", "106.00", "equal, 3 points"]
    wrong = document(changed("tables-quotes-simple", entries=1_000))
    assert row(wrong, "simple: entries")[3].startswith("off by up to")


def test_references_stand_beside_ours() -> None:
    page = document(changed("changes-quotes-identity", messages=59.59))
    assert "59.6 (59, +1.0 %)" in row(page, "2 | 1,340 | 106 |")[4]


def test_claims_hold_or_do_not() -> None:
    assert row(document(POINTS), "with more subscriptions identity")[1] == "holds"
    rising = [
        evolve(each, break_even=each.consumers / 10) if each.study == "changes-quotes-identity" else each
        for each in POINTS
    ]
    assert row(document(rising), "with more subscriptions identity")[1] == "does not hold"
    assert row(document([]), "locality helps")[1] == "not measured"


def test_where_a_reference_is_not_exact_the_expectation_counts() -> None:
    def page(at_ten: float) -> str:
        return document(
            [
                point(
                    curve.study,
                    many,
                    messages=at_ten if (curve.study, many) == ("changes-quotes-identity", 10) else reference,
                )
                for curve in CURVES
                if curve.measure == "messages"
                for many, reference in curve.values.items()
            ]
        )

    assert row(page(6.4), "changes cost")[1:] == ["holds", "24 of 24 within 5 %, the farthest +0.0 %"]
    holds, figures = row(page(6.75), "changes cost")[1:]
    assert holds == "holds"
    assert figures.startswith("23 of 24 within 5 %, the farthest +5.5 %; identity is off its expectation by")
    assert row(page(7.5), "changes cost")[1] == "does not hold"


def test_a_table_that_is_not_what_it_should_be_is_reported() -> None:
    total = sum(each.brokers for each in POINTS)
    assert f"0 of {total:,} tables differ" in document(POINTS)
    assert f"6 of {total:,} tables differ" in document(changed("tables-quotes-identity", differing=2))


def test_only_what_stands_between_the_marks_is_written_anew() -> None:
    page = f"before\n{BEGIN}\nold\n{END}\nafter\n"
    once = in_place(page, "new")
    assert once == f"before\n{BEGIN}\n\nnew\n\n{END}\nafter\n"
    assert in_place(once, "new") == once
    with pytest.raises(EvaluationPageError, match="has no lines"):
        in_place("before\n", "new")
