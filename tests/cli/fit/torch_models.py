# SPDX-License-Identifier: Apache-2.0
"""Models that PyTorch trains for a moment, and the comparison with what dtrain makes of them.

    torch_models.py make DIR          DIR/NAME.safetensors, .x.npy, .y.npy and .p.npy, PyTorch's predictions
    torch_models.py check DIR NAME    DIR/NAME.ours.npy, predictions of dtrain, and DIR/NAME.back.safetensors
"""
import sys

import numpy as np
import torch
from safetensors.torch import load_file, save_file
from torch import nn


class Block(nn.Module):
    def __init__(self, n):
        super().__init__()
        self.conv1, self.bn1 = nn.Conv2d(n, n, 3, padding=1, bias=False), nn.BatchNorm2d(n)
        self.conv2, self.bn2 = nn.Conv2d(n, n, 3, padding=1, groups=n), nn.GroupNorm(2, n)

    def forward(self, x):
        y = self.bn2(self.conv2(torch.relu(self.bn1(self.conv1(x)))))
        return torch.relu(x + y)


class Pictures(nn.Module):
    """Channels come first here; `Flatten` and `fc` have another order than in dtrain."""

    def __init__(self):
        super().__init__()
        self.stem, self.up = nn.Conv2d(3, 6, 3, padding=1), nn.ConvTranspose2d(6, 4, 2, stride=2)
        self.layer1 = nn.ModuleList([Block(6)])
        self.act, self.fc = nn.PReLU(4), nn.Linear(4 * 10 * 12, 7)
        self.flat_bn, self.flat_act = nn.BatchNorm1d(4 * 10 * 12), nn.PReLU(4 * 10 * 12)

    def forward(self, x):
        x = self.act(self.up(self.layer1[0](self.stem(x))))
        return self.fc(self.flat_act(self.flat_bn(x.flatten(1))))


class Words(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = nn.ModuleDict({
            "embed": nn.Embedding(20, 8), "lstm": nn.LSTM(8, 6, batch_first=True), "gru": nn.GRU(6, 8, batch_first=True),
            "attn": nn.MultiheadAttention(8, 2, batch_first=True), "norm": nn.LayerNorm(8), "conv": nn.Conv1d(8, 5, 3),
            "both": nn.LSTM(5, 4, batch_first=True, bidirectional=True)})
        self.head = nn.Linear(8, 3)

    def forward(self, x):
        e = self.encoder
        x = e["gru"](e["lstm"](e["embed"](x))[0])[0]
        x = e["norm"](x + e["attn"](x, x, x, need_weights=False)[0])
        x = e["both"](torch.relu(e["conv"](x.transpose(1, 2)).transpose(1, 2)))[0]
        return self.head(x.mean(1))


MODELS = {"pictures": (Pictures, lambda n: torch.randn(n, 3, 5, 6), 7), "words": (Words, lambda n: torch.randint(0, 20, (n, 9)), 3)}


def make(folder, name):
    torch.manual_seed(len(name))
    model, draw, classes = MODELS[name][0](), MODELS[name][1], MODELS[name][2]
    x, y = draw(48), torch.randint(0, classes, (48,))
    optimizer = torch.optim.Adam(model.parameters(), lr=0.02)
    for _ in range(12):
        optimizer.zero_grad()
        nn.functional.cross_entropy(model(x), y).backward()
        optimizer.step()
    model.eval()
    p = model(x).detach().numpy()
    ours = x.numpy().transpose(0, 2, 3, 1) if x.ndim == 4 else x.numpy().astype(np.int32)
    np.save(f"{folder}/{name}.x.npy", np.ascontiguousarray(ours))
    np.save(f"{folder}/{name}.y.npy", y.numpy().astype(np.int32))
    np.save(f"{folder}/{name}.p.npy", p)
    save_file(model.state_dict(), f"{folder}/{name}.safetensors")
    for dtype in (torch.float16, torch.bfloat16):
        narrow = {k: v.to(dtype) if v.is_floating_point() else v for k, v in model.state_dict().items()}
        short = str(dtype).rpartition(".")[2]
        save_file(narrow, f"{folder}/{name}.{short}.safetensors")
        save_file({k: v.float() if v.is_floating_point() else v for k, v in narrow.items()}, f"{folder}/{name}.{short}.wide.safetensors")


def check(folder, name):
    theirs, ours = np.load(f"{folder}/{name}.p.npy"), np.load(f"{folder}/{name}.ours.npy")
    assert theirs.std() > 0.1, "predictions that tell nothing"
    gap = np.abs(theirs - ours).max()
    print(name, "predictions within 1e-5" if gap < 1e-5 else f"predictions differ by {gap}")
    back, sent = load_file(f"{folder}/{name}.back.safetensors"), load_file(f"{folder}/{name}.safetensors")
    model = MODELS[name][0]().eval()
    model.load_state_dict(back, strict=True)
    x = torch.from_numpy(np.load(f"{folder}/{name}.x.npy"))
    x = x.permute(0, 3, 1, 2) if x.ndim == 4 else x.long()
    gap = np.abs(model(x).detach().numpy() - theirs).max()
    print(name, "given back within 1e-5" if gap < 1e-5 else f"given back, predictions differ by {gap}")
    other = [k for k in sent if "bias_" not in k and "tracked" not in k and not torch.equal(sent[k], back[k])]
    print(name, "the same tensors" if not other else other)


if __name__ == "__main__":
    if sys.argv[1] == "make":
        for each in MODELS:
            make(sys.argv[2], each)
    else:
        check(sys.argv[2], sys.argv[3])
