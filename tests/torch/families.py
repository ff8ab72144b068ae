#!/usr/bin/env python3
"""Makes files of tests/data/torch/: what the classes of Hugging Face transformers
compute of small models of the families below.

    python3 -m venv V && V/bin/pip install torch 'transformers==4.57.1' numpy
    V/bin/python tests/torch/families.py tests/data/torch [FAMILY...]

FAMILY: only these; what is committed was made with PyTorch 2.15.0.  Those of
NEWER were made by transformers 5.24.0, which has classes of theirs or, of
deepseek_v2, a scale of scores that DeepSeek's own code has too.
Weights, texts, loss and files are those of fixtures.py beside it.  Where the
classes ask for float32 they get float64.
"""
import sys

import torch

FLOAT = torch.float32
torch.float = torch.float32 = torch.float64
torch.Tensor.float = torch.Tensor.double
torch.set_default_dtype(torch.float64)

import transformers as tf  # noqa: E402

OLDER = int(tf.__version__.split(".")[0]) < 5
NEWER = ["deepseek_v2_lite", "glm4_moe_lite"]
LENGTHS, VOCAB = [5, 70, 1, 12], 29
SIZES = dict(hidden_size=16, num_hidden_layers=2, num_attention_heads=4,
             num_key_value_heads=2, intermediate_size=24, vocab_size=VOCAB,
             max_position_embeddings=128, rms_norm_eps=1e-5,
             attn_implementation="eager")
EXPERTS = dict(num_experts_per_tok=2, moe_intermediate_size=12)


def value(stream, n, scale):  # as in fixtures.py
    out = []
    for i in range(n):
        x = (i * 2654435761 + stream * 40503 + 12345) & 0xFFFFFFFF
        x = ((x ^ (x >> 15)) * 2246822519) & 0xFFFFFFFF
        x = ((x ^ (x >> 13)) * 3266489917) & 0xFFFFFFFF
        x ^= x >> 16
        out.append(scale * ((x + 0.5) / 2**31 - 1))
    return torch.tensor(out).to(FLOAT).double()


def texts():
    every = value(900, sum(LENGTHS), 1)
    out, at = [], 0
    for n in LENGTHS:
        out.append(((every[at:at + n] + 1) / 2 * VOCAB).long()
                   .clamp(0, VOCAB - 1))
        at += n
    return out


def models():
    """Name, class, keys."""
    yield "qwen2_moe", "Qwen2Moe", dict(
        SIZES, **EXPERTS, num_experts=4, mlp_only_layers=[0],
        shared_expert_intermediate_size=20)
    yield "glm4_moe", "Glm4Moe", dict(
        SIZES, **EXPERTS, n_routed_experts=8, n_group=4, topk_group=2,
        first_k_dense_replace=1, n_shared_experts=2, head_dim=8,
        routed_scaling_factor=2.5, use_qk_norm=True, attention_bias=True)
    yield "ministral", "Ministral", dict(
        SIZES, head_dim=4, sliding_window=3,
        layer_types=["sliding_attention", "full_attention"])
    gpt_oss = dict(
        SIZES, intermediate_size=12, num_local_experts=4,
        num_experts_per_tok=2, sliding_window=3, attention_bias=True,
        layer_types=["sliding_attention", "full_attention"])
    yield "gpt_oss", "GptOss", dict(
        gpt_oss, head_dim=4, rope_theta=10000, rope_scaling=None)
    # scaled frequencies: of four pairs some stay, some are between and some
    # are scaled
    yarn = dict(rope_type="yarn", beta_fast=4.0, beta_slow=0.5,
                original_max_position_embeddings=64)
    yield "llama3", "Llama", dict(
        SIZES, head_dim=8, rope_theta=10000, rope_scaling=dict(
            rope_type="llama3", factor=8.0, low_freq_factor=1.0,
            high_freq_factor=4.0, original_max_position_embeddings=128))
    yield "gpt_oss_yarn", "GptOss", dict(
        gpt_oss, head_dim=8, rope_theta=100,
        rope_scaling=dict(yarn, factor=32.0, truncate=False))
    latent = dict(
        {k: SIZES[k] for k in SIZES if k != "num_key_value_heads"}, **EXPERTS,
        kv_lora_rank=6, qk_nope_head_dim=3, qk_rope_head_dim=4, v_head_dim=5,
        n_routed_experts=8, n_group=4, topk_group=2, first_k_dense_replace=1,
        n_shared_experts=2, num_key_value_heads=4)
    yield "deepseek_v3_yarn", "DeepseekV3", dict(
        latent, qk_rope_head_dim=8, q_lora_rank=7, rope_theta=100,
        rope_scaling=dict(yarn, factor=40.0, mscale=0.7, mscale_all_dim=1.3))
    yield "deepseek_v3", "DeepseekV3", dict(
        latent, q_lora_rank=7, routed_scaling_factor=1.5)
    yield "deepseek_v3_whole", "DeepseekV3", dict(
        latent, q_lora_rank=None, rope_interleave=False)
    # complex numbers: heads of an even size
    yield "deepseek_v2", "DeepseekV2", dict(
        latent, qk_nope_head_dim=4, q_lora_rank=7, routed_scaling_factor=3.0,
        topk_method="group_limited_greedy")
    yield "deepseek_v2_lite", "DeepseekV2", dict(
        latent, qk_nope_head_dim=4, qk_rope_head_dim=8, q_lora_rank=None, topk_method="greedy",
        n_group=1, topk_group=1, rope_theta=100,
        rope_scaling=dict(yarn, factor=40.0, mscale=0.707,
                          mscale_all_dim=0.707))
    # Kimi-K2 is in DeepSeek-V3's class: its numbers
    yield "kimi_k2", "DeepseekV3", dict(
        latent, q_lora_rank=7, n_group=1, topk_group=1, rope_theta=50000,
        routed_scaling_factor=2.827, rope_scaling=dict(
            rope_type="yarn", factor=32.0, beta_fast=1.0, beta_slow=1.0,
            mscale=1.0, mscale_all_dim=1.0,
            original_max_position_embeddings=64))
    yield "glm4_moe_lite", "Glm4MoeLite", dict(
        {k: latent[k] for k in latent if k != "first_k_dense_replace"},
        q_lora_rank=7, n_group=1, topk_group=1, rope_theta=1000,
        mlp_layer_types=["dense", "sparse"], n_shared_experts=1)


# the order of graph/input/model_row.c in a layer
ORDER = ["self_attn.q_proj", "self_attn.k_proj", "self_attn.v_proj",
         "self_attn.q_a_proj", "self_attn.q_a_layernorm", "self_attn.q_b_proj",
         "self_attn.kv_a_proj", "self_attn.kv_a_layernorm",
         "self_attn.kv_b_proj", "self_attn.o_proj", "self_attn.sinks", "self_attn.q_norm", "self_attn.k_norm",
         "mlp.gate.", "mlp.shared_experts.gate_proj",
         "mlp.shared_experts.up_proj", "mlp.shared_experts.down_proj",
         "mlp.shared_expert_gate", "mlp.experts.", "mlp.gate_proj",
         "mlp.up_proj", "mlp.down_proj", "input_layernorm",
         "post_attention_layernorm"]
PARTS = ["gate_proj", "up_proj", "down_proj"]


def known(name):
    """What Reallot calls it."""
    return (name.replace("mlp.shared_expert.", "mlp.shared_experts.")
            .replace("mlp.router.", "mlp.gate."))


def parts(name, shape):
    """Reallot's names and shapes of a parameter: gpt_oss has the experts in
    one, inputs first, where gates and ups take turns; transformers 5 all of
    them, outputs first, gates before ups."""
    if not name.endswith(("_proj", "_proj_bias")):
        return [(known(name), shape)]
    stem, proj = name.rsplit(".", 1)
    kind = "bias" if proj.endswith("_bias") else "weight"
    cols = shape[1 if OLDER else -1]
    out = []
    for expert in range(shape[0]):
        for part in (["gate", "up"] if "gate" in proj else ["down"]):
            rows = shape[-1 if OLDER else 1] // (2 if "gate" in proj else 1)
            out.append((f"{stem}.{expert}.{part}_proj.{kind}",
                        (rows,) if kind == "bias" else (rows, cols)))
    return out


def whole(name, shape, leaves):
    """The parameter of its parts."""
    mine = [leaves[n] for n, _ in parts(name, shape)]
    if not name.endswith(("_proj", "_proj_bias")):
        return mine[0]
    if not OLDER:
        return torch.stack(mine if "gate_up" not in name else
                           [torch.cat(x) for x in zip(mine[::2], mine[1::2])])
    mine = [x.mT if x.dim() > 1 else x for x in mine]
    if "gate_up" not in name:
        return torch.stack(mine)
    return torch.stack([torch.stack([g, u], -1).flatten(-2)
                        for g, u in zip(mine[::2], mine[1::2])])


def place(name):
    """Where it is in Reallot's order."""
    if "embed" in name:
        return (-1,)
    if ".layers." not in name:
        return (1000, "lm_head" in name)
    _, layer, rest = name.split(".", 3)[1:]
    at = [i for i, x in enumerate(ORDER) if rest.startswith(x)][0]
    inner = rest.split(".")
    expert = (int(inner[2]), PARTS.index(inner[3])) \
        if rest.startswith("mlp.experts.") else (0, 0)
    return (int(layer), at, expert, name.endswith("bias"))


def write(file, name, x):
    file.write(name + "".join(" %.9g" % y for y in
                              x.detach().reshape(-1).tolist()) + "\n")


def make(model):
    """Reallot's name -> leaf, in its order."""
    leaves = {}
    sizes = dict(part for name, x in model.named_parameters()
                 for part in parts(name, tuple(x.shape)))
    for index, name in enumerate(sorted(sizes, key=place)):
        x = value(index, torch.Size(sizes[name]).numel(), 0.3)
        if "norm" in name:
            x = x + 1
        leaves[name] = x.reshape(sizes[name]).requires_grad_()
    for name, buffer in model.named_buffers():
        if name.endswith("e_score_correction_bias"):
            layer = int(name.split(".")[2])
            buffer.copy_(value(950 + layer, buffer.numel(), 0.2))
    return leaves


def main(folder, *wanted):
    for kind, name, keys in models():
        if kind not in wanted if wanted else OLDER == (kind in NEWER):
            continue
        config = getattr(tf, name + "Config")(**keys)
        config._experts_implementation = "eager"  # others take no float64
        model = getattr(tf, name + "ForCausalLM")(config).double().train()
        leaves = make(model)
        given = {name: whole(name, tuple(x.shape), leaves)
                 for name, x in model.named_parameters()}
        logits, lp = [], []
        for t in texts():
            z = torch.func.functional_call(
                model, given, (t[None],), {"use_cache": False}).logits[0]
            target = torch.cat([t[1:], t[-1:]])
            logits.append(z)
            lp.append(z.log_softmax(-1).gather(-1, target[:, None])[:, 0])
        z, lp = torch.cat(logits), torch.cat(lp)
        n = sum(LENGTHS)
        mask = torch.cat([torch.tensor([1.0] * (k - 1) + [0.0])
                          for k in LENGTHS])
        old = (lp.detach() + value(901, n, 0.4)).to(FLOAT).double()
        ref = (lp.detach() + value(902, n, 0.4)).to(FLOAT).double()
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
            for name, x in leaves.items():  # none: an expert without tokens
                write(file, "grad:" + name,
                      torch.zeros_like(x) if x.grad is None else x.grad)


main(*sys.argv[1:])
