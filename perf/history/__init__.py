"""Speed over commits, by asv: ``make perf-history``."""
