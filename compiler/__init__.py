"""Pipelines, caches, the command line; as `torch.compiler`, what programs ask of a compiler."""

from .directives import (
    allow_in_graph,
    disable,
    is_compiling,
    is_dynamo_compiling,
    is_exporting,
)

__all__ = ["allow_in_graph", "disable", "is_compiling", "is_dynamo_compiling", "is_exporting"]
