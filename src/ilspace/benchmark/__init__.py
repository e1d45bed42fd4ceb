"""The paper's experiments: protocols, runs, tables and figures."""
