"""Both forms of the hot path: which modules have two, and which one runs."""

import ast
from importlib import import_module
from pathlib import Path

from click.testing import CliRunner

from broker.commands import concord
from broker.form import FORM, IS_COMPILED
from harness.explorer.mutants import MUTANTS
from tests.sources import ROOT


def modules() -> set[str]:
    """What setup.py builds."""
    for node in ast.parse((ROOT / "setup.py").read_text(encoding="utf-8")).body:
        if (
            isinstance(node, ast.AnnAssign)
            and isinstance(node.target, ast.Name)
            and node.target.id == "MODULES"
        ):
            assert node.value is not None
            return set(ast.literal_eval(node.value))
    raise AssertionError("setup.py has no MODULES")


def test_all_modules_are_of_one_form() -> None:
    forms = {Path(str(import_module(name).__file__)).suffix != ".py" for name in modules()}
    assert forms == {IS_COMPILED}


def test_types_of_c_are_declared_only_for_what_is_built() -> None:
    declared = {
        path.relative_to(ROOT).with_suffix("").as_posix().replace("/", ".")
        for path in ROOT.glob("broker/**/*.pxd")
    }
    assert declared
    assert declared <= modules()


def test_mutants_replace_nothing_that_may_be_an_extension_type() -> None:
    owners = {
        owner.__module__ if isinstance(owner, type) else owner.__name__
        for mutant in MUTANTS.values()
        for owner, _, _ in mutant.changes
    }
    assert not owners & modules()


def test_the_version_says_which_form_runs() -> None:
    assert CliRunner().invoke(concord, ["--version"]).output.endswith(f" ({FORM})\n")
