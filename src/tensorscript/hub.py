"""`torch.hub`: files of weights; programs are not fetched, for they would have to be executed."""

from tensorscript.frontends.torchscript.hub import (
    HASH_REGEX,
    download_url_to_file,
    get_dir,
    load_state_dict_from_url,
    set_dir,
)

__all__ = [
    "HASH_REGEX",
    "download_url_to_file",
    "get_dir",
    "load_state_dict_from_url",
    "set_dir",
]
