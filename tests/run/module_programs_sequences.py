"""Programs with modules: packed sequences and recurrent layers.

The format is that of `language_harness`; each program is a class `M`.
"""

TEXT = r"""
=== packed_gru
class M(nn.Module):
    def __init__(self):
        super().__init__()
        self.gru = nn.GRU(3, 4)
    def forward(self, x, lengths):
        p = nn.utils.rnn.pack_padded_sequence(x, lengths)
        out, hn = self.gru(p)
        return nn.utils.rnn.pad_packed_sequence(out), hn
>>> f(torch.ones(5, 2, 3), T([5, 3]))
>>> f(torch.ones(5, 2, 3), T([3, 5]))

=== packed_lstm_unsorted
class M(nn.Module):
    def __init__(self):
        super().__init__()
        self.lstm = nn.LSTM(3, 4, batch_first=True, bidirectional=True)
    def forward(self, x, lengths: List[int], state: Optional[Tuple[Tensor, Tensor]] = None):
        p = nn.utils.rnn.pack_padded_sequence(
            x, torch.tensor(lengths), batch_first=True, enforce_sorted=False
        )
        out, (hn, cn) = self.lstm(p, state)
        y, n = nn.utils.rnn.pad_packed_sequence(out, batch_first=True, total_length=6)
        return y, n, hn, cn, p.batch_sizes, out.data.size(0)
>>> f(torch.ones(2, 5, 3), [3, 5])
>>> f(torch.ones(2, 5, 3), [3, 5], (torch.ones(2, 2, 4), torch.zeros(2, 2, 4)))

=== packed_rnn
class M(nn.Module):
    def __init__(self):
        super().__init__()
        self.rnn = nn.RNN(3, 2, num_layers=2)
    def forward(self, a, b):
        p = nn.utils.rnn.pack_sequence([a, b], enforce_sorted=False)
        out, hn = self.rnn(p)
        return nn.utils.rnn.unpack_sequence(out), hn
>>> f(torch.ones(2, 3), torch.ones(4, 3))

=== padded_sequences
class M(nn.Module):
    def forward(self, xs: List[Tensor]):
        padded = nn.utils.rnn.pad_sequence(xs, batch_first=True, padding_value=-1.0)
        return padded, nn.utils.rnn.unpad_sequence(padded, torch.tensor([1, 3]), batch_first=True)
>>> f([T([1.0]), T([1.0, 2.0, 3.0])])

=== recurrent_both_ways
class M(nn.Module):
    def __init__(self):
        super().__init__()
        self.lstm = nn.LSTM(3, 4)
    def forward(self, x, packed: bool):
        if packed:
            p = nn.utils.rnn.pack_sequence([x, x])
            out, (h, c) = self.lstm(p)
            return out.data, h
        y, (h, c) = self.lstm(x)
        return y, h
>>> f(torch.ones(2, 3), True)
>>> f(torch.ones(2, 3), False)
"""
