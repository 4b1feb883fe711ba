"""Names in state dicts that a wrapper of modules has put a prefix before."""

from __future__ import annotations

from typing import Any


def consume_prefix_in_state_dict_if_present(state_dict: dict[str, Any], prefix: str) -> None:
    """Take `prefix` ("module.") off the keys and the metadata of `state_dict`, in place."""
    tables = [state_dict, getattr(state_dict, "_metadata", {})]
    for table, whole in zip(tables, (None, prefix.replace(".", "")), strict=True):
        for key in list(table):
            if key and (key.startswith(prefix) or key == whole):
                table[key[len(prefix) :]] = table.pop(key)
