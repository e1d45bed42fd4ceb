"""Rerun the paper's experiments: protocols, and what is built on them."""
