"""What each operator computes, one file a family; `table.py` merges their tables."""
