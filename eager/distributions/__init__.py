"""Probability distributions, as `torch.distributions` has them; `src/tensorscript/distributions.py`
is their public face."""
