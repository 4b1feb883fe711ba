"""`torch.backends.cudnn`: never used; its settings are kept, and nothing reads them."""

enabled = True
benchmark = False
deterministic = False
allow_tf32 = True


def is_available() -> bool:
    return False


def version() -> None:
    """The version of the library: there is none."""
