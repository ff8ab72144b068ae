#!/usr/bin/env python3
"""What PyTorch takes for what bench/executor measures; `name seconds` lines.

    RA_TORCH_PYTHON=V/bin/python bench/executor

runs it.  The same decoder, batch and number of threads (one), CPU seconds of
the process, least of the runs; AdamW is torch.optim's fused-loop variant.
"""
import sys
import time

import torch
import torch.nn.functional as F

LAYERS, HIDDEN, HEADS, KV, DIM, FFN, VOCAB = 6, 512, 8, 4, 64, 1408, 4096
SEQUENCES, TOKENS, PROMPT, NEW, BATCH = 4, 256, 64, 64, 8
torch.set_num_threads(1)
torch.manual_seed(0)


def weights():
    def make(*shape):
        return (torch.randn(*shape) * 0.02).requires_grad_()

    w = {"embed": make(VOCAB, HIDDEN), "head": make(VOCAB, HIDDEN),
         "norm": torch.ones(HIDDEN, requires_grad=True)}
    for i in range(LAYERS):
        w[i, "qkv"] = make((HEADS + 2 * KV) * DIM, HIDDEN)
        w[i, "o"] = make(HIDDEN, HEADS * DIM)
        w[i, "up"] = make(2 * FFN, HIDDEN)
        w[i, "down"] = make(HIDDEN, FFN)
        w[i, "n1"] = torch.ones(HIDDEN, requires_grad=True)
        w[i, "n2"] = torch.ones(HIDDEN, requires_grad=True)
    return w


def rms(x, w):
    return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-5) * w


f = 10000.0 ** (-torch.arange(DIM // 2) * 2.0 / DIM)
angle = torch.arange(TOKENS)[:, None] * f
COS = torch.cat([angle.cos(), angle.cos()], -1)
SIN = torch.cat([angle.sin(), angle.sin()], -1)


def rotate(x, at):  # (batch, heads, tokens, dim)
    half = DIM // 2
    n = x.shape[2]
    turned = torch.cat([-x[..., half:], x[..., :half]], -1)
    return x * COS[at:at + n] + turned * SIN[at:at + n]


def model(w, tokens, cache=None, at=0):
    x = w["embed"][tokens]
    b, t = tokens.shape
    for i in range(LAYERS):
        qkv = F.linear(rms(x, w[i, "n1"]), w[i, "qkv"])
        q, k, v = qkv.view(b, t, -1, DIM).transpose(1, 2).split(
            [HEADS, KV, KV], 1)
        q, k = rotate(q, at), rotate(k, at)
        if cache is not None:
            cache[i][0][:, :, at:at + t] = k
            cache[i][1][:, :, at:at + t] = v
            k, v = (c[:, :, :at + t] for c in cache[i])
        k, v = (y.repeat_interleave(HEADS // KV, 1) for y in (k, v))
        o = F.scaled_dot_product_attention(q, k, v, is_causal=t > 1)
        x = x + F.linear(o.transpose(1, 2).reshape(b, t, -1), w[i, "o"])
        gate, up = F.linear(rms(x, w[i, "n2"]), w[i, "up"]).split(FFN, -1)
        x = x + F.linear(F.silu(gate) * up, w[i, "down"])
    return rms(x, w["norm"])


def least(run, n):
    best = 1e9
    for _ in range(n):
        begin = time.process_time()
        run()
        best = min(best, time.process_time() - begin)
    return best


def main(n_runs):
    w = weights()
    tokens = torch.randint(VOCAB, (SEQUENCES, TOKENS))
    optimizer = torch.optim.AdamW(list(w.values()), lr=1e-3, foreach=True)

    def train():
        z = F.linear(model(w, tokens), w["head"])
        loss = F.cross_entropy(z[:, :-1].reshape(-1, VOCAB),
                               tokens[:, 1:].reshape(-1))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()

    @torch.no_grad()
    def generate():
        cache = [[torch.empty(BATCH, KV, PROMPT + NEW, DIM) for _ in "kv"]
                 for _ in range(LAYERS)]
        new = torch.randint(VOCAB, (BATCH, PROMPT))
        at = 0
        for _ in range(NEW):
            h = model(w, new, cache, at)[:, -1]
            at += new.shape[1]
            z = F.linear(h, w["head"])
            new = torch.multinomial(z.softmax(-1), 1)

    train()
    print("train_s", least(train, n_runs))
    generate()
    print("generate_s", least(generate, n_runs))


main(int(sys.argv[1]))
