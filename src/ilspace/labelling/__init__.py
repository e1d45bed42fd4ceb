"""Labelling of chosen target rows: on a local page, in a terminal, or in files."""
