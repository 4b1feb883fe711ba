"""`torch.backends.mps`: programs run on CPUs and on NVIDIA's GPUs."""


def is_available() -> bool:
    return False


def is_built() -> bool:
    return False
