"""How Sphinx builds the site: `make docs`. What it adds to the pages is in `harness/site.py`.

Nothing is fetched, neither when the site is built nor when it is read: fonts are the reader's own, and the
search index is a file of the site.
"""
# ruff: noqa: INP001 - Sphinx reads this file by its path, `docs/` is no package

from pathlib import Path

from harness.site import setup, version_here

__all__ = ["setup"]

project = "Concord"
version = release = version_here()
copyright = "The Concord maintainers"  # noqa: A001 - Sphinx reads this name

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
exclude_patterns = ["pictures"]

myst_enable_extensions = ["attrs_block", "deflist"]
myst_heading_anchors = 4
myst_heading_slug_func = "harness.site.slug"

default_role = "code"
add_module_names = False
autodoc_member_order = "bysource"
autodoc_typehints = "signature"
autodoc_preserve_defaults = True
autodoc_class_signature = "separated"
napoleon_google_docstring = True

html_theme = "furo"
html_title = "Concord"
html_copy_source = False
html_show_sourcelink = False
html_show_sphinx = False
html_search_scorer = str(Path(__file__).with_name("scorer.js"))
