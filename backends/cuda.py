"""`torch.backends.cuda`: GPUs are reached through their driver, by PTX of ours, not by NVIDIA's
libraries; settings of those are kept, and nothing reads them."""


def is_built() -> bool:
    """Whether PyTorch is built with NVIDIA's libraries: they are never used."""
    return False


class matmul:
    """What cuBLAS would be allowed to round."""

    allow_tf32 = False
    allow_fp16_reduced_precision_reduction = True
    allow_bf16_reduced_precision_reduction = True
