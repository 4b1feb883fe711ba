"""The script frontend: Python functions, modules and TorchScript text become `ts` modules.

The way of a function: `source` (text to syntax tree), `statements` and `expressions` (emission of a
draft), `ssa`, `exits`, `cleanup`, and `lower` (to `ts` operations). Names from outside are resolved
by `live` (Python objects), `modules` (nn.Module instances) or `text` (archives, CompilationUnit).

Entry points: `api.compile_function(fn)`, `api.compile_module(m)` and
`text.compile_source(text)`; for archives `text.TextWorld(program, library, constants)`
with `named_type`, `function` and `compile_class`, by qualified name.
"""
