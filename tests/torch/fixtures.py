#!/usr/bin/env python3
"""Makes tests/data/torch/*.txt: what PyTorch computes of a small Llama.

    python3 -m venv V && V/bin/pip install torch numpy
    V/bin/python tests/torch/fixtures.py tests/data/torch

Everything is computed in float64, so that a difference is Reallot's.  Inputs
are made by value() below, which tests/support/torch_fixture.c repeats; the files hold
only results, a line `NAME VALUE...` each.
"""
import sys

import torch
import torch.nn.functional as F

LAYERS, HIDDEN, HEADS, KV_HEADS, HEAD_DIM, FFN, VOCAB = 2, 16, 4, 2, 4, 24, 29
EXPERTS, TOP_K, EXPERT_FFN = 4, 2, 12  # of the models that have them
EPS, THETA = 1e-5, 10000.0
LENGTHS = [5, 70, 1, 12]  # more than a block of 64, and a single token
torch.set_default_dtype(torch.float64)


def value(stream, n, scale):
    """n numbers in (-scale, scale): Knuth's multiplicative hash, twice."""
    out = []
    for i in range(n):
        x = (i * 2654435761 + stream * 40503 + 12345) & 0xFFFFFFFF
        x = ((x ^ (x >> 15)) * 2246822519) & 0xFFFFFFFF
        x = ((x ^ (x >> 13)) * 3266489917) & 0xFFFFFFFF
        x ^= x >> 16
        # what C has in fp32
        out.append(float(torch.tensor(scale * ((x + 0.5) / 2**31 - 1),
                                      dtype=torch.float32)))
    return torch.tensor(out)


def mlp_shapes(p, kind, layer):
    if kind == "mixtral":
        yield p + "block_sparse_moe.gate.weight", (EXPERTS, HIDDEN)
        for e in range(EXPERTS):
            x = p + f"block_sparse_moe.experts.{e}."
            yield x + "w1.weight", (EXPERT_FFN, HIDDEN)
            yield x + "w2.weight", (HIDDEN, EXPERT_FFN)
            yield x + "w3.weight", (EXPERT_FFN, HIDDEN)
    elif kind == "qwen3_moe" and layer > 0:  # mlp_only_layers: [0]
        yield p + "mlp.gate.weight", (EXPERTS, HIDDEN)
        for e in range(EXPERTS):
            x = p + f"mlp.experts.{e}."
            yield x + "gate_proj.weight", (EXPERT_FFN, HIDDEN)
            yield x + "up_proj.weight", (EXPERT_FFN, HIDDEN)
            yield x + "down_proj.weight", (HIDDEN, EXPERT_FFN)
    else:
        yield p + "mlp.gate_proj.weight", (FFN, HIDDEN)
        yield p + "mlp.up_proj.weight", (FFN, HIDDEN)
        yield p + "mlp.down_proj.weight", (HIDDEN, FFN)


def shapes(tied, value_head, bias, kind="llama"):
    yield "model.embed_tokens.weight", (VOCAB, HIDDEN)
    for i in range(LAYERS):
        p = f"model.layers.{i}."
        for name, heads in (("q", HEADS), ("k", KV_HEADS), ("v", KV_HEADS)):
            yield p + f"self_attn.{name}_proj.weight", (heads * HEAD_DIM,
                                                        HIDDEN)
            if bias:
                yield p + f"self_attn.{name}_proj.bias", (heads * HEAD_DIM,)
        yield p + "self_attn.o_proj.weight", (HIDDEN, HEADS * HEAD_DIM)
        if kind.startswith("qwen3"):
            yield p + "self_attn.q_norm.weight", (HEAD_DIM,)
            yield p + "self_attn.k_norm.weight", (HEAD_DIM,)
        yield from mlp_shapes(p, kind, i)
        yield p + "input_layernorm.weight", (HIDDEN,)
        yield p + "post_attention_layernorm.weight", (HIDDEN,)
    yield "model.norm.weight", (HIDDEN,)
    if value_head:
        yield "score.weight", (1, HIDDEN)
    elif not tied:
        yield "lm_head.weight", (VOCAB, HIDDEN)


def parameters(tied, value_head, bias, kind="llama"):
    out = {}
    for index, (name, shape) in enumerate(shapes(tied, value_head, bias,
                                                 kind)):
        n = 1
        for d in shape:
            n *= d
        x = value(index, n, 0.3)
        if "norm" in name:
            x = x + 1
        out[name] = x.reshape(shape).requires_grad_()
    return out


def rms(x, w):
    return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + EPS) * w


def rotate(x):  # (tokens, heads, head_dim), as Hugging Face's Llama
    half = HEAD_DIM // 2
    f = THETA ** (-torch.arange(half) * 2.0 / HEAD_DIM)
    a = torch.arange(x.shape[0])[:, None].double() * f
    cos = torch.cat([a.cos(), a.cos()], -1)[:, None]
    sin = torch.cat([a.sin(), a.sin()], -1)[:, None]
    turned = torch.cat([-x[..., half:], x[..., :half]], -1)
    return x * cos + turned * sin


def mlp(w, p, h):
    """Dense, Mixtral's experts (weights of the chosen divided by their sum) or
    Qwen3-MoE's with norm_topk_prob false (not divided)."""
    if p + "mlp.gate_proj.weight" in w:
        return gated(h, *(w[p + f"mlp.{n}_proj.weight"]
                          for n in ("gate", "up", "down")))
    mixtral = p + "block_sparse_moe.gate.weight" in w
    p += "block_sparse_moe." if mixtral else "mlp."
    names = ("w1", "w3", "w2") if mixtral else ("gate_proj", "up_proj",
                                                "down_proj")
    probs = F.linear(h, w[p + "gate.weight"]).softmax(-1)
    chosen, which = probs.topk(TOP_K, -1)
    if mixtral:
        chosen = chosen / chosen.sum(-1, keepdim=True)
    out = torch.zeros_like(h)
    for e in range(EXPERTS):
        made = gated(h, *(w[p + f"experts.{e}.{n}.weight"] for n in names))
        out = out + (chosen * (which == e)).sum(-1, keepdim=True) * made
    return out


def gated(h, gate, up, down):
    return F.linear(F.silu(F.linear(h, gate)) * F.linear(h, up), down)


def model(w, tokens):
    """Final hidden states of one sequence."""
    x = w["model.embed_tokens.weight"][tokens]
    t = len(tokens)
    for i in range(LAYERS):
        p = f"model.layers.{i}."
        h = rms(x, w[p + "input_layernorm.weight"])
        q, k, v = (F.linear(h, w[p + f"self_attn.{n}_proj.weight"],
                            w.get(p + f"self_attn.{n}_proj.bias"))
                   .reshape(t, -1, HEAD_DIM) for n in "qkv")
        if p + "self_attn.q_norm.weight" in w:
            q = rms(q, w[p + "self_attn.q_norm.weight"])
            k = rms(k, w[p + "self_attn.k_norm.weight"])
        q, k = rotate(q), rotate(k)
        k, v = (y.repeat_interleave(HEADS // KV_HEADS, 1) for y in (k, v))
        o = F.scaled_dot_product_attention(
            q.transpose(0, 1), k.transpose(0, 1), v.transpose(0, 1),
            is_causal=True)
        x = x + F.linear(o.transpose(0, 1).reshape(t, -1),
                         w[p + "self_attn.o_proj.weight"])
        h = rms(x, w[p + "post_attention_layernorm.weight"])
        x = x + mlp(w, p, h)
    return rms(x, w["model.norm.weight"])


def texts():
    every = value(900, sum(LENGTHS), 1)
    out, at = [], 0
    for n in LENGTHS:
        part = every[at:at + n]
        out.append(((part + 1) / 2 * VOCAB).long().clamp(0, VOCAB - 1))
        at += n
    return out


def write(file, name, x):
    file.write(name + "".join(" %.9g" % y for y in
                              x.detach().reshape(-1).tolist()) + "\n")


def grads(file, w):
    for name, x in w.items():
        write(file, "grad:" + name, x.grad)


def log_probs(w, tied):
    head = w["model.embed_tokens.weight" if tied else "lm_head.weight"]
    logits, out = [], []
    for t in texts():
        z = F.linear(model(w, t), head)
        target = torch.cat([t[1:], t[-1:]])
        logits.append(z)
        out.append(z.log_softmax(-1).gather(-1, target[:, None])[:, 0])
    return torch.cat(logits), torch.cat(out)


def mask():
    """1 where a token has a successor."""
    return torch.cat([torch.tensor([1.0] * (n - 1) + [0.0]) for n in LENGTHS])


def actor(path, tied, bias, grpo, kind="llama"):
    """The clipped policy loss, with GRPO's KL to a reference or not."""
    w = parameters(tied, False, bias, kind)
    z, lp = log_probs(w, tied)
    n = sum(LENGTHS)
    old = (lp.detach() + value(901, n, 0.4)).float().double()
    ref = (lp.detach() + value(902, n, 0.4)).float().double()
    a = value(903, n, 2)
    ratio = (lp - old).exp()
    loss = torch.max(-a * ratio, -a * ratio.clamp(0.8, 1.2))
    if grpo:
        loss = loss + 0.1 * ((ref - lp).exp() - (ref - lp) - 1)
    loss = (loss * mask()).sum() / mask().sum()
    loss.backward()
    with open(path, "w") as file:
        write(file, "logits", z[:5])
        write(file, "log_prob", lp)
        write(file, "old", old)
        write(file, "reference", ref)
        write(file, "loss", loss)
        grads(file, w)


def critic(path):
    w = parameters(False, True, False)
    v = torch.cat([F.linear(model(w, t), w["score.weight"])[:, 0]
                   for t in texts()])
    n = sum(LENGTHS)
    old = (v.detach() + value(904, n, 0.4)).float().double()
    returns = (v.detach() + value(905, n, 1)).float().double()
    held = old + (v - old).clamp(-0.2, 0.2)
    loss = 0.5 * torch.max((v - returns) ** 2, (held - returns) ** 2)
    loss = (loss * mask()).sum() / mask().sum()
    loss.backward()
    with open(path, "w") as file:
        write(file, "values", v)
        write(file, "old", old)
        write(file, "returns", returns)
        write(file, "loss", loss)
        grads(file, w)


def answers(x):
    """What there is of each text's tokens that have a successor."""
    out, at = [], 0
    for n in LENGTHS:
        out.append(x[at:at + n - 1])
        at += n
    return out


def sft(path):
    """Cross-entropy of all answers' tokens."""
    w = parameters(False, False, False)
    lp = log_probs(w, False)[1]
    loss = -torch.cat(answers(lp)).mean()
    loss.backward()
    with open(path, "w") as file:
        write(file, "log_prob", lp)
        write(file, "loss", loss)
        grads(file, w)


def dpo(path):
    """Texts 0 and 2 are chosen over 1 and 3; beta 0.1."""
    w = parameters(False, False, False)
    lp = log_probs(w, False)[1]
    ref = (lp.detach() + value(902, sum(LENGTHS), 0.4)).float().double()
    ratio = [(a - b).sum() for a, b in zip(answers(lp), answers(ref))]
    margin = torch.stack([ratio[0] - ratio[1], ratio[2] - ratio[3]])
    loss = -F.logsigmoid(0.1 * margin).mean()
    loss.backward()
    with open(path, "w") as file:
        write(file, "log_prob", lp)
        write(file, "reference", ref)
        write(file, "loss", loss)
        grads(file, w)


def reward_model(path):
    """The same pairs by the value of their last token."""
    w = parameters(False, True, False)
    v = torch.cat([F.linear(model(w, t), w["score.weight"])[:, 0]
                   for t in texts()])
    last = v[torch.tensor(LENGTHS).cumsum(0) - 1]
    loss = -F.logsigmoid(last[0::2] - last[1::2]).mean()
    loss.backward()
    with open(path, "w") as file:
        write(file, "values", v)
        write(file, "loss", loss)
        grads(file, w)


def without_critic(file):
    """RLOO: autograd of REINFORCE with the others' mean as baseline, of three
    prompts with four answers (rewards 920); the advantage is what multiplies
    the log-probability.  ReMax: of the texts' tokens (old 921, reference 922),
    the reward to go, whose last token has 0.7 less the greedy answer's 0.25,
    less 0.01 times what the penalty is from there on."""
    r = value(920, 12, 1).reshape(3, 4)
    lp = torch.zeros(3, 4, requires_grad=True)
    loss = 0.0
    for i in range(4):
        rest = [j for j in range(4) if j != i]
        loss = loss - ((r[:, i] - r[:, rest].mean(1)) * lp[:, i]).sum()
    loss.backward()
    write(file, "leave_one_out", -lp.grad)
    n, out = sum(LENGTHS), []
    penalty = 0.01 * (value(921, n, 1) - value(922, n, 1))
    at = 0
    for k in LENGTHS:
        r = -penalty[at:at + k]
        r[-1] += 0.7 - 0.25
        out.append(r.flip(0).cumsum(0).flip(0))
        at += k
    write(file, "remax", torch.cat(out))


def gae(file):
    """A loop over PyTorch scalars; rewards 906, values 907."""
    rewards, values = value(906, sum(LENGTHS), 1), value(907, sum(LENGTHS), 1)
    out, at = [], 0
    for n in LENGTHS:
        a, part = 0.0, []
        for t in reversed(range(n)):
            after = values[at + t + 1] if t + 1 < n else 0.0
            a = rewards[at + t] + 0.99 * after - values[at + t] + 0.99 * 0.95 * a
            part.append(a)
        out += reversed(part)
        at += n
    write(file, "advantages", torch.stack(out))


def adamw(file):
    """Five steps of torch.optim.AdamW with clip_grad_norm_ to 1."""
    w = torch.nn.Parameter(value(908, 100, 1))
    optimizer = torch.optim.AdamW([w], lr=1e-2, betas=(0.9, 0.95), eps=1e-8,
                                  weight_decay=0.1)
    for step in range(5):
        w.grad = value(910 + step, 100, 0.3)
        norm = torch.nn.utils.clip_grad_norm_([w], 1.0)
        write(file, f"norm{step}", norm)
        optimizer.step()
    write(file, "weights", w)


def main(folder):
    actor(folder + "/actor.txt", False, False, False)
    actor(folder + "/actor-tied.txt", True, True, True)
    for kind in ("qwen3", "mixtral", "qwen3_moe"):
        actor(folder + f"/{kind}.txt", False, False, False, kind)
    critic(folder + "/critic.txt")
    sft(folder + "/sft.txt")
    dpo(folder + "/dpo.txt")
    reward_model(folder + "/reward.txt")
    with open(folder + "/scalars.txt", "w") as file:
        gae(file)
        adamw(file)
        without_critic(file)


main(sys.argv[1])
