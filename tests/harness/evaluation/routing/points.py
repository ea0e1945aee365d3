"""Points as an analysis would find them, by a rule that is easy to see."""

from collections.abc import Iterator

from harness.analysis.points import MeasuredPoint

STOCKS = 1_000


def point(study: str, consumers: int, **more: object) -> MeasuredPoint:
    values: dict[str, object] = {
        "study": study,
        "consumers": consumers,
        "group": study.partition("-")[0],
        "kind": "intervals" if "intervals" in study else "quotes",
        "strategy": "simple",
        "has_advertisements": study.endswith("advertised"),
        "locality": None,
        "factor": 1.0,
        "subscriptions": consumers * 670,
        "entries": consumers * 670,
        "brokers": 107,
        "level_entries": [consumers * 670.0] * 4,
        "differing": 0,
    }
    return MeasuredPoint(**(values | more))  # type: ignore[arg-type]  # every name is one of the class


def all_points() -> Iterator[MeasuredPoint]:
    for way in ("", "-advertised"):
        for many in (2, 10, 20):
            x = many * 670
            for strategy, kind in (
                ("simple", "quotes"),
                ("identity", "quotes"),
                ("covering", "intervals"),
                ("merging", "intervals"),
            ):
                falls = 100 / many**2 if strategy != "simple" else 106.0
                entries = 106 * x if not way else round(250 / 67 * x)
                about: dict[str, object] = {"strategy": strategy, "kind": kind}
                yield point(f"tables-{kind}-{strategy}{way}", many, entries=entries, **about)
                saved = 1 - many / 100
                yield point(
                    f"changes-{kind}-{strategy}{way}",
                    many,
                    **about,
                    changes=5_000,
                    messages=falls,
                    messages_error=0.01,
                    acknowledgements=falls / 2,
                    quotes=STOCKS,
                    publications=106.0 * (1 - saved),
                    saved=saved,
                    wrong=0,
                    break_even=falls / saved / 106,
                )
            for locality in (1 / 3, 0.6, 1.0):
                yield point(
                    f"locality-{locality:.2f}{way}",
                    many,
                    strategy="identity",
                    locality=locality,
                    entries=round(many * 1_000 * locality),
                    messages=locality,
                    saved=1 - locality / 2,
                    break_even=locality / 50,
                )
    for locality in (1 / 3, 1.0):
        entries = int(locality * STOCKS + 1e-9) * 105
        about = {"group": "locality-limit", "has_advertisements": True}
        yield point("locality-limit", 1, strategy="identity", locality=locality, entries=entries, **about)
    for factor in (1.0, 1.5, 2.5):
        about = {"strategy": "merging", "kind": "windows", "factor": factor}
        yield point(
            f"factor-{factor}", 20, group="factors", entries=round(40_000 / factor), extra=factor - 1, **about
        )
