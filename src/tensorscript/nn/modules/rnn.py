"""`torch.nn.modules.rnn`: layers by PyTorch's file names."""

from tensorscript.eager.nn.layers.rnn import (
    GRU,
    LSTM,
    RNN,
    RNNBase,
)
from tensorscript.eager.nn.layers.rnn_cell import (
    GRUCell,
    LSTMCell,
    RNNCell,
    RNNCellBase,
)

__all__ = ["GRU", "LSTM", "RNN", "GRUCell", "LSTMCell", "RNNBase", "RNNCell", "RNNCellBase"]
