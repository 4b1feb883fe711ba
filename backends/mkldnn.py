"""`torch.backends.mkldnn`: never used."""

enabled = False


def is_available() -> bool:
    return False
