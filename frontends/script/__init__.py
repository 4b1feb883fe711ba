"""The script frontend: Python functions, and TorchScript text, to `ts` modules.

`compile_function(fn)` compiles a live function; `api.CompiledTS` shows the result as graph and schema
text. The way of a function: `source` (text to syntax tree) -> `statements`/`expressions` (emission of
a draft) -> `ssa` -> `exits` -> `cleanup` -> `lower` (to `ts` operations).
"""
