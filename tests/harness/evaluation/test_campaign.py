from pathlib import Path

import click
import pytest
from attrs import frozen

from harness.evaluation.campaign import chosen, whole


@frozen
class Named:
    name: str


STUDIES = [Named("tables-simple"), Named("tables-identity"), Named("changes-simple")]


def half_made(folder: Path) -> None:
    (folder / "half").mkdir(parents=True)
    raise ZeroDivisionError


def test_studies_are_chosen_by_how_their_names_begin() -> None:
    assert chosen(STUDIES, None) == STUDIES
    assert chosen(STUDIES, "changes,tables-i") == STUDIES[1:]
    with pytest.raises(
        click.BadParameter, match="no study's name begins with curves; there are tables-simple"
    ):
        chosen(STUDIES, "tables,curves")


def test_a_folder_gets_its_name_only_when_it_is_whole(tmp_path: Path) -> None:
    place = tmp_path / "studies" / "one"
    with pytest.raises(ZeroDivisionError), whole(place) as unfinished:
        half_made(unfinished)
    assert not place.exists()
    with whole(place) as unfinished:
        unfinished.mkdir()
    assert list(place.parent.iterdir()) == [place]
    assert list(place.iterdir()) == []
