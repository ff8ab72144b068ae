#!/usr/bin/env python3
"""Makes tests/data/torch/{gpt2,bloom,mpt}.txt: what the classes of Hugging Face
transformers compute of small models of these families.

    python3 -m venv V && V/bin/pip install torch 'transformers==4.46.3' numpy
    V/bin/python tests/torch/classic.py tests/data/torch

Weights, texts, loss and files are those of fixtures.py beside it, in float64;
bloom's and mpt's softmax is fp32 in their code.
"""
import sys

import torch
import torch.nn.functional as F
from transformers import (BloomConfig, BloomForCausalLM, GPT2Config,
                          GPT2LMHeadModel, MptConfig, MptForCausalLM)

sys.argv, folder = [sys.argv[0], "/dev/null"], sys.argv[1]
LAYERS, HIDDEN, HEADS, VOCAB = 2, 16, 4, 29
LENGTHS = [5, 70, 1, 12]
torch.set_default_dtype(torch.float64)


def value(stream, n, scale):  # as in fixtures.py
    out = []
    for i in range(n):
        x = (i * 2654435761 + stream * 40503 + 12345) & 0xFFFFFFFF
        x = ((x ^ (x >> 15)) * 2246822519) & 0xFFFFFFFF
        x = ((x ^ (x >> 13)) * 3266489917) & 0xFFFFFFFF
        x ^= x >> 16
        out.append(float(torch.tensor(scale * ((x + 0.5) / 2**31 - 1),
                                      dtype=torch.float32)))
    return torch.tensor(out)


def texts():
    every = value(900, sum(LENGTHS), 1)
    out, at = [], 0
    for n in LENGTHS:
        out.append(((every[at:at + n] + 1) / 2 * VOCAB).long()
                   .clamp(0, VOCAB - 1))
        at += n
    return out


def models():
    yield "gpt2", GPT2LMHeadModel(GPT2Config(
        n_layer=LAYERS, n_embd=HIDDEN, n_head=HEADS, n_inner=24,
        vocab_size=VOCAB, n_positions=128, embd_pdrop=0.0, attn_pdrop=0.0,
        resid_pdrop=0.0, attn_implementation="eager"))
    yield "bloom", BloomForCausalLM(BloomConfig(
        n_layer=LAYERS, hidden_size=HIDDEN, n_head=HEADS, vocab_size=VOCAB,
        hidden_dropout=0.0, attention_dropout=0.0))
    yield "mpt", MptForCausalLM(MptConfig(
        n_layers=LAYERS, d_model=HIDDEN, n_heads=HEADS, vocab_size=VOCAB,
        max_seq_len=128))


def parts(kind, name, shape):
    """What Reallot calls the parts of a tensor, in its order and orientation:
    (name, shape), and how to make the checkpoint's of them."""
    if "c_attn" in name or "query_key_value" in name or "Wqkv" in name:
        tail = () if name.endswith("bias") else (HIDDEN,)
        yield from ((f"{name}[{p}]", (HIDDEN,) + tail) for p in "qkv")
    elif kind == "gpt2" and ".h." in name and len(shape) == 2:
        yield name, (shape[1], shape[0])
    else:
        yield name, tuple(shape)


def join(kind, name, tensors):
    if len(tensors) == 3 and kind == "bloom":  # head by head
        by_head = [t.reshape(HEADS, 1, HIDDEN // HEADS, -1) for t in tensors]
        joined = torch.cat(by_head, 1).reshape(3 * HIDDEN, -1)
        return joined[:, 0] if tensors[0].dim() == 1 else joined
    joined = torch.cat(tensors) if len(tensors) == 3 else tensors[0]
    return joined.T if kind == "gpt2" and ".h." in name and joined.dim() == 2 \
        else joined


def is_norm(name):
    return any(x in name for x in ("ln_", "layernorm", "norm_"))


def write(file, name, x):
    file.write(name + "".join(" %.9g" % y for y in
                              x.detach().reshape(-1).tolist()) + "\n")


def check(kind, model):
    """A name and its part in Reallot -> leaf; the checkpoint's from them."""
    leaves, made, index = {}, {}, 0
    for name, p in model.named_parameters():
        if name == "lm_head.weight":
            continue  # tied
        tensors = []
        for part, shape in parts(kind, name, p.shape):
            n = 1
            for d in shape:
                n *= d
            x = value(index, n, 0.3)
            index += 1
            x = (x + 1 if is_norm(name) else x).reshape(shape)
            leaves[part] = x.requires_grad_()
            tensors.append(leaves[part])
        made[name] = join(kind, name, tensors)
        assert made[name].shape == p.shape, name
    table = [n for n in made if "wte" in n or "word_embeddings.weight" in n][0]
    made["lm_head.weight"] = made[table]
    model = model.double().train()
    logits, lp = [], []
    for t in texts():
        z = torch.func.functional_call(
            model, made, (t[None],), {"use_cache": False}).logits[0]
        target = torch.cat([t[1:], t[-1:]])
        logits.append(z)
        lp.append(z.log_softmax(-1).gather(-1, target[:, None])[:, 0])
    return leaves, torch.cat(logits), torch.cat(lp)


for kind, model in models():
    leaves, z, lp = check(kind, model)
    n = sum(LENGTHS)
    mask = torch.cat([torch.tensor([1.0] * (k - 1) + [0.0]) for k in LENGTHS])
    old = (lp.detach() + value(901, n, 0.4)).float().double()
    ref = (lp.detach() + value(902, n, 0.4)).float().double()
    a = value(903, n, 2)
    ratio = (lp - old).exp()
    loss = torch.max(-a * ratio, -a * ratio.clamp(0.8, 1.2))
    loss = (loss * mask).sum() / mask.sum()
    loss.backward()
    with open(f"{folder}/{kind}.txt", "w") as file:
        write(file, "logits", z[:5])
        write(file, "log_prob", lp)
        write(file, "old", old)
        write(file, "reference", ref)
        write(file, "loss", loss)
        for name, x in leaves.items():
            write(file, "grad:" + name, x.grad)
