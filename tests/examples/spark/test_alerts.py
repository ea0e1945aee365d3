"""The Spark job of the guide is the one in the repository; the guide runs it (`tests/test_tried.py`)."""

from tests.sources import ROOT


def test_the_guide_shows_the_job() -> None:
    program = (ROOT / "examples" / "spark" / "alerts.py").read_text(encoding="utf-8")
    page = (ROOT / "docs" / "how-to" / "spark.md").read_text(encoding="utf-8")
    assert f"```python\n# alerts.py\n{program}```\n" in page
