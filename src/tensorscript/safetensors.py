"""Safetensors files as dictionaries of tensors, with the names of the package `safetensors`."""

from tensorscript.frontends.safetensors import load, load_file, save, save_file

__all__ = ["load", "load_file", "save", "save_file"]
