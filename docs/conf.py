"""Build the documentation site: make docs, then open build/docs/index.html. No page of it needs a network."""

from importlib import metadata

project = "Equipoise"
author = "The Equipoise authors"
release = metadata.version("equipoise")
language = "en_GB"

extensions = ["myst_parser"]
# Headings are anchors, as they are where the repository shows its pages.
myst_heading_anchors = 3
nitpicky = True

html_theme = "pydata_sphinx_theme"
html_title = "Equipoise"
html_show_sourcelink = False
html_copy_source = False
templates_path = ["_templates"]
# Every page stands in the sidebar; at the top there is no room for so many.
html_sidebars = {"**": ["pages"]}
html_theme_options = {
    "navbar_center": [],
    "show_prev_next": False,
    # What the theme shows here by itself links to the sites of its tools.
    "footer_start": [],
    "footer_end": [],
}
