"""The tracing frontend: a program recorded while it runs, as `ts`.

`tracer` listens to eager operators and writes a draft (the script frontend's), `spelling` says how
PyTorch records a call, `nesting` takes structured inputs apart and puts outputs together, `scopes`
turns what submodules recorded into methods, `check` compares two traces.
"""
