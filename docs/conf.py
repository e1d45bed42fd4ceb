"""How Sphinx builds the site: ``make docs``.

Nothing is fetched, neither while the site is built nor while it is read.
"""

from __future__ import annotations

import sys
from pathlib import Path

import matplotlib as mpl

sys.path.insert(0, str(Path(__file__).parent / "_ext"))
mpl.use("agg")

import reading_order

import ilspace

project = "ilspace"
author = copyright = "ilspace developers"
version = release = ilspace.__version__

extensions = [
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "numpydoc",
    "myst_parser",
    "sphinx_gallery.gen_gallery",
    "sphinxcontrib.bibtex",
    "benchmark",
    "docstrings",
    "generated_pages",
    "mathml",
    "self_contained",
]
templates_path = ["_templates"]
exclude_patterns = ["_generated", "_ext", "measurements"]
nitpicky = True
default_role = "literal"  # `X` in a docstring is a name, not a title
primary_domain = "py"
smartquotes_action = "qe"  # quotes and ellipses, but "--help" keeps its dashes

# --- formats -----------------------------------------------------------------

myst_enable_extensions = ["colon_fence", "deflist", "dollarmath"]
myst_heading_anchors = 3
bibtex_bibfiles = ["references.bib"]
bibtex_reference_style = "author_year"
bibtex_default_style = "plain"
html_math_renderer = "mathml"
benchmark_stores = "../benchmarks"

# --- the library's own words -------------------------------------------------

autosummary_generate = True
autodoc_typehints = "none"  # numpydoc's sections name the types
autodoc_member_order = "bysource"
toc_object_entries_show_parents = "hide"
numpydoc_show_class_members = False  # the template lists them

# --- the gallery -------------------------------------------------------------

sphinx_gallery_conf = {
    "examples_dirs": "../examples",
    "gallery_dirs": "auto_examples",
    "filename_pattern": r"/plot_",
    "subsection_order": [f"../examples/{each}" for each in reading_order.FOLDERS],
    "within_subsection_order": "reading_order.ReadingOrder",
    "abort_on_example_error": True,
    "backreferences_dir": "api/backreferences",
    "doc_module": ("ilspace",),
    "inspect_global_variables": False,
    "write_computation_times": False,  # its page would load scripts from elsewhere
    "min_reported_time": 1e9,
    "show_memory": False,
    "download_all_examples": False,
    "show_signature": False,
    "remove_config_comments": True,
    "parallel": True,
}

# --- the pages ---------------------------------------------------------------

html_theme = "pydata_sphinx_theme"
html_title = "ilspace"
html_static_path = ["_static"]
html_css_files = ["house.css"]
html_show_sourcelink = False
html_copy_source = False
html_theme_options = {
    "show_prev_next": False,
    "navigation_with_keys": False,
    "footer_start": ["copyright"],
    "footer_end": [],
    "header_links_before_dropdown": 7,
    "show_toc_level": 2,
}
# pages of the first level have no neighbours to list
html_sidebars = dict.fromkeys(("index", "quickstart", "mathematics", "reproduction", "field"), [])
