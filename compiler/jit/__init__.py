"""The TorchScript API: scripting, loading, and the objects that both give.

`callables` runs one function, `module` is a loaded or scripted module, `boundary` converts values
between Python and script, `load` and `script` are the two ways in, `language` holds the names that
programs use while they are still Python.
"""
