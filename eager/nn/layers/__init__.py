"""Layers by family, with PyTorch's constructors, attributes, state and text.

House rule: `forward` and what it calls are written in the TorchScript language (see `functions/`);
constructors are Python. A class's `__constants__` are baked into its scripts.
"""
