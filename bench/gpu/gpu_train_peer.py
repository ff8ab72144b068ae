#!/usr/bin/env python3
"""PyTorch's training step on this machine's GPU, for bench/node.sh's `train`.

    bench/gpu/gpu_train_peer.py MODEL.json [--tiny]

A Llama of the configuration's shapes, torch.compile'd, bf16, fp32 master weights
and AdamW states: 16 sequences of 4,096 tokens, one at a time, gradients
accumulated, one clipped step.  Prints `train`, tokens, median seconds of a step.
--tiny: on the CPU, not compiled, 2 sequences of 8 tokens, to try the script.
"""
import json
import statistics
import sys
import time

try:
    import torch
    from torch import nn
    from torch.nn import functional as F
except ImportError as error:
    sys.exit(f"gpu_train_peer.py: {error}")

RUNS, WARM = 5, 2


# Grouped heads without copies since 2.5; before, each copied to its group.
GROUPS = tuple(map(int, torch.__version__.split(".")[:2])) >= (2, 5)


class Norm(nn.Module):
    def __init__(self, n):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(n))

    def forward(self, x):
        y = x.float()
        y = y * torch.rsqrt(y.square().mean(-1, keepdim=True) + 1e-5)
        return y.to(x.dtype) * self.weight


def attend(q, k, v):
    if GROUPS:
        return F.scaled_dot_product_attention(
            q, k, v, is_causal=True, enable_gqa=True
        )
    n = q.shape[1] // k.shape[1]
    k, v = k.repeat_interleave(n, 1), v.repeat_interleave(n, 1)
    return F.scaled_dot_product_attention(q, k, v, is_causal=True)


def rotate(x, cos, sin):
    a, b = x.chunk(2, dim=-1)
    return torch.cat((a * cos - b * sin, b * cos + a * sin), dim=-1)


class Layer(nn.Module):
    def __init__(self, c):
        super().__init__()
        hidden, self.width = c["hidden_size"], c["head_dim"]
        self.heads, self.kv = c["num_attention_heads"], c["num_key_value_heads"]
        self.norm1, self.norm2 = Norm(hidden), Norm(hidden)
        rows = (self.heads + 2 * self.kv) * self.width
        self.qkv = nn.Linear(hidden, rows, bias=False)
        self.out = nn.Linear(self.heads * self.width, hidden, bias=False)
        self.up = nn.Linear(hidden, 2 * c["intermediate_size"], bias=False)
        self.down = nn.Linear(c["intermediate_size"], hidden, bias=False)

    def forward(self, x, cos, sin):
        n, length, _ = x.shape
        heads = self.qkv(self.norm1(x)).view(n, length, -1, self.width)
        q, k, v = heads.transpose(1, 2).split((self.heads, self.kv, self.kv), 1)
        q, k = rotate(q, cos, sin), rotate(k, cos, sin)
        y = attend(q, k, v)
        x = x + self.out(y.transpose(1, 2).reshape(n, length, -1))
        gate, up = self.up(self.norm2(x)).chunk(2, dim=-1)
        return x + self.down(F.silu(gate) * up)


class Model(nn.Module):
    def __init__(self, c, length):
        super().__init__()
        self.embedding = nn.Embedding(c["vocab_size"], c["hidden_size"])
        self.layers = nn.ModuleList(Layer(c) for _ in range(c["num_hidden_layers"]))
        self.norm = Norm(c["hidden_size"])
        self.head = nn.Linear(c["hidden_size"], c["vocab_size"], bias=False)
        half = c["head_dim"] // 2
        angle = torch.outer(
            torch.arange(length), 10000.0 ** (-torch.arange(half) / half)
        )
        self.register_buffer("cos", angle.cos())
        self.register_buffer("sin", angle.sin())

    def forward(self, tokens):
        x = self.embedding(tokens[:, :-1])
        for layer in self.layers:
            x = layer(x, self.cos.to(x.dtype), self.sin.to(x.dtype))
        logits = self.head(self.norm(x))
        return F.cross_entropy(logits.float().flatten(0, 1), tokens[:, 1:].flatten())


class Master:
    """fp32 weights beside the bf16 ones that compute, with AdamW's states."""

    def __init__(self, parameters):
        self.low = list(parameters)
        self.high = [p.detach().float().requires_grad_() for p in self.low]
        fused = self.low[0].is_cuda
        self.adamw = torch.optim.AdamW(self.high, lr=1e-6, fused=fused)

    def add(self):
        for low, high in zip(self.low, self.high):
            grad = low.grad.float()
            high.grad = grad if high.grad is None else high.grad.add_(grad)
            low.grad = None

    @torch.no_grad()
    def step(self):
        nn.utils.clip_grad_norm_(self.high, 1.0)
        self.adamw.step()
        self.adamw.zero_grad()
        torch._foreach_copy_(self.low, self.high)


def main():
    tiny = "--tiny" in sys.argv
    paths = [a for a in sys.argv[1:] if not a.startswith("--")]
    if len(paths) != 1:
        sys.exit("gpu_train_peer.py: expected MODEL.json [--tiny]")
    if not tiny and not torch.cuda.is_available():
        sys.exit("gpu_train_peer.py: no CUDA device")
    n, length, device = (2, 8, "cpu") if tiny else (16, 4096, "cuda")
    with open(paths[0], encoding="utf-8") as file:
        config = json.load(file)
    with torch.device(device):
        model = Model(config, length).bfloat16()
        tokens = torch.randint(config["vocab_size"], (n, length + 1))
    run = model if tiny else torch.compile(model)
    master, seconds = Master(model.parameters()), []
    for _ in range(WARM + RUNS):
        if not tiny:
            torch.cuda.synchronize()
        begin = time.perf_counter()
        for i in range(n):
            (run(tokens[i : i + 1]) / n).backward()
            master.add()
        master.step()
        if not tiny:
            torch.cuda.synchronize()
        seconds.append(time.perf_counter() - begin)
    print(f"# PyTorch {torch.__version__}, {'eager, CPU' if tiny else 'compiled'}")
    print(f"train\t{n * length}\t{statistics.median(seconds[WARM:]):.6g}")


main()
