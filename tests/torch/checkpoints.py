#!/usr/bin/env python3
"""Makes tests/data/checkpoints/: small models as transformers writes them.

    python3 -m venv V && V/bin/pip install torch transformers safetensors
    V/bin/python tests/torch/checkpoints.py tests/data/checkpoints [NAME...]

NAME: only these.  Qwen3 needs transformers 4.51 or later; what is committed of
it, of Mixtral and of Qwen3-MoE was made by 4.52.4 with PyTorch 2.5.1, of
llama-biases, gpt2, bloom and mpt by 4.51.3 with 2.3.1, of qwen2-moe,
glm4-moe, ministral, gpt-oss, deepseek-v3 and deepseek-v2 by 4.57.1 with 2.15.0
(logits of glm4-moe and deepseek-v3 in float32: their classes mix the two), of
glm4-moe-lite by 5.24.0.
Each folder has config.json, safetensors and logits.txt: a line a position of
TEXT, the logits that transformers computes in float64 from the weights as they
were written.  With --open FOLDER... it only writes the logits.txt of checkpoints
that are there, at which `reallot run --save` can be held.
"""
import pathlib
import sys

import safetensors.torch
import torch
import transformers as tf
from transformers import (AutoModelForCausalLM, LlamaConfig, LlamaForCausalLM,
                          Qwen2Config, Qwen2ForCausalLM)

TEXT = [3, 17, 0, 28, 9, 9, 21]
SIZES = dict(hidden_size=16, num_hidden_layers=2, num_attention_heads=4,
             num_key_value_heads=2, intermediate_size=24, vocab_size=29,
             max_position_embeddings=128, initializer_range=0.3)


def logits(folder):
    config = (pathlib.Path(folder) / "config.json").read_text()
    mixes = "glm4_moe" in config or "deepseek_v3" in config
    model = AutoModelForCausalLM.from_pretrained(
        folder, attn_implementation="eager",
        torch_dtype=torch.float32 if mixes else torch.float64)
    model.config._attn_implementation = "eager"
    torch.set_default_dtype(model.dtype)  # of mpt's mask
    with torch.no_grad():
        out = model(torch.tensor([TEXT])).logits[0]
    torch.set_default_dtype(torch.float32)
    return out


def show(out):
    return "".join(" ".join(repr(float(x)) for x in row) + "\n" for row in out)


def make(folder, model, **how):
    for name, p in model.named_parameters():
        if "norm" in name or "bias" in name or "ln_" in name:  # else 1 and 0
            torch.nn.init.uniform_(p, 0.5, 1.5)
    for name, x in model.named_buffers():
        if name.endswith("e_score_correction_bias"):
            torch.nn.init.uniform_(x, -0.2, 0.2)
    model.save_pretrained(folder, **how)
    (folder / "generation_config.json").unlink(missing_ok=True)
    (folder / "logits.txt").write_text(show(logits(folder)))


def newer(out, wanted):
    """Each with a seed of its own, as they are made one by one."""
    sizes = dict(SIZES, head_dim=8)  # q is wider than the residual stream
    moe = dict(num_experts_per_tok=2, output_router_logits=False)
    for name, family, config in (
            ("llama-biases", "Llama", dict(SIZES, attention_bias=True,
                                           mlp_bias=True)),
            ("qwen3", "Qwen3", dict(sizes)),
            ("mixtral", "Mixtral", dict(sizes, num_local_experts=4,
                                        sliding_window=None, **moe)),
            ("qwen3-moe", "Qwen3Moe", dict(
                sizes, num_experts=4, moe_intermediate_size=12,
                norm_topk_prob=False, mlp_only_layers=[0],
                tie_word_embeddings=True, **moe)),
            ("qwen3-moe-normed", "Qwen3Moe", dict(
                sizes, num_experts=8, moe_intermediate_size=8,
                norm_topk_prob=True, **moe)),
            ("qwen2-moe", "Qwen2Moe", dict(
                SIZES, num_experts=4, moe_intermediate_size=12,
                shared_expert_intermediate_size=20, mlp_only_layers=[0],
                **moe)),
            ("glm4-moe", "Glm4Moe", dict(
                sizes, n_routed_experts=8, moe_intermediate_size=8, n_group=4,
                topk_group=2, first_k_dense_replace=1, n_shared_experts=2,
                routed_scaling_factor=2.5, use_qk_norm=True,
                attention_bias=True, **moe)),
            ("ministral", "Ministral", dict(
                sizes, sliding_window=3,
                layer_types=["full_attention", "sliding_attention"])),
            ("gpt-oss", "GptOss", dict(
                sizes, intermediate_size=12, num_local_experts=4,
                sliding_window=3, attention_bias=True, rope_theta=10000,
                rope_scaling=None,
                layer_types=["full_attention", "sliding_attention"], **moe)),
            ("deepseek-v3", "DeepseekV3", dict(
                SIZES, num_key_value_heads=4, q_lora_rank=10, kv_lora_rank=6,
                qk_nope_head_dim=6, qk_rope_head_dim=4, v_head_dim=5,
                n_routed_experts=8, moe_intermediate_size=8, n_group=4,
                topk_group=2, first_k_dense_replace=1, n_shared_experts=2,
                **moe)),
            ("deepseek-v2", "DeepseekV2", dict(
                SIZES, num_key_value_heads=4, q_lora_rank=None, kv_lora_rank=6,
                qk_nope_head_dim=4, qk_rope_head_dim=4, v_head_dim=5,
                n_routed_experts=8, moe_intermediate_size=8, n_group=4,
                topk_group=2, topk_method="group_limited_greedy",
                routed_scaling_factor=3.0, first_k_dense_replace=1,
                n_shared_experts=2, num_experts_per_tok=2)),
            ("glm4-moe-lite", "Glm4MoeLite", dict(
                SIZES, num_key_value_heads=4, q_lora_rank=10, kv_lora_rank=6,
                qk_nope_head_dim=6, qk_rope_head_dim=4, v_head_dim=5,
                n_routed_experts=8, moe_intermediate_size=8, n_group=1,
                topk_group=1, n_shared_experts=1, **moe))):
        if wanted and name not in wanted:
            continue
        torch.manual_seed(20261122)
        config = getattr(tf, family + "Config")(**config)
        make(out / name, getattr(tf, family + "ForCausalLM")(config))


def classic(out, wanted):
    """Fused q, k and v in three orders.  Six heads: slopes of ALiBi where they
    are no power of two; numbers that are not the defaults."""
    sizes = dict(vocab_size=29, initializer_range=0.3)
    gpt2 = dict(sizes, n_embd=16, n_layer=2, n_head=4, n_positions=32)
    for name, family, config in (
            ("gpt2", "GPT2", dict(gpt2, n_inner=24, layer_norm_epsilon=1e-3)),
            # as the Hub has it: names without their prefix, masks beside them
            ("gpt2-bare", "GPT2", dict(gpt2, activation_function="gelu")),
            ("bloom", "Bloom", dict(sizes, hidden_size=24, n_layer=2, n_head=6,
                                    layer_norm_epsilon=1e-3)),
            ("mpt", "Mpt", dict(sizes, d_model=24, n_layers=2, n_heads=6,
                                max_seq_len=32, layer_norm_epsilon=1e-3))):
        if wanted and name not in wanted:
            continue
        torch.manual_seed(20261122)
        config = getattr(tf, family + "Config")(
            **config, bos_token_id=0, eos_token_id=0)
        kind = {"GPT2": "GPT2LMHeadModel"}.get(family, family + "ForCausalLM")
        make(out / name, getattr(tf, kind)(config))
        if name == "gpt2-bare":
            bare(out / name / "model.safetensors")


def bare(path):
    tensors = {name.removeprefix("transformer."): x
               for name, x in safetensors.torch.load_file(path).items()}
    for layer in range(2):
        tensors[f"h.{layer}.attn.bias"] = torch.ones(32, 32).tril()[None, None]
        tensors[f"h.{layer}.attn.masked_bias"] = torch.tensor(-1e4)
    safetensors.torch.save_file(tensors, path, {"format": "pt"})


def main():
    if sys.argv[1] == "--open":
        for folder in sys.argv[2:]:
            (pathlib.Path(folder) / "logits.txt").write_text(
                show(logits(folder)))
        return
    out, wanted = pathlib.Path(sys.argv[1]), sys.argv[2:]
    newer(out, wanted)
    classic(out, wanted)
    if wanted:
        return
    torch.manual_seed(20261122)
    # several files, bf16, an epsilon and a base that are not the defaults
    make(out / "llama-sharded",
         LlamaForCausalLM(LlamaConfig(rms_norm_eps=1e-3, rope_theta=500.0,
                                      **SIZES)).to(torch.bfloat16),
         max_shard_size="4KB")
    make(out / "llama-half",
         LlamaForCausalLM(LlamaConfig(**SIZES)).to(torch.float16))
    make(out / "qwen2-tied",
         Qwen2ForCausalLM(Qwen2Config(tie_word_embeddings=True, **SIZES)))


main()
