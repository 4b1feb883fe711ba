"""Names of what an object of kernels shows to its loader."""

from __future__ import annotations

TIMES = "ts_times"
"""The counters of its kernels, if it was made to be timed."""
