#!/usr/bin/env python3
"""Makes tests/data/torch/rope.txt: how Hugging Face transformers turns heads by
the keys of published models.

    python3 -m venv V && V/bin/pip install torch 'transformers==4.57.1'
    V/bin/python tests/torch/rope.py >tests/data/torch/rope.txt

A model is two lines: its config.json in one line, and the factor on cosines and
sines, the scale of scores (0: the class has no other than that of its heads)
and the frequencies, in float64.  The keys are those of Llama-3.1-8B,
LongChat-7B, gpt-oss-20b (whose class has them), Qwen2.5-7B as its README makes
it long, DeepSeek-V3, Kimi-K2, and of a yarn that states everything.
"""
import json

import torch

torch.float = torch.float32 = torch.float64
torch.set_default_dtype(torch.float64)

from transformers import AutoConfig  # noqa: E402
from transformers.modeling_rope_utils import ROPE_INIT_FUNCTIONS  # noqa: E402
from transformers.models.deepseek_v3.modeling_deepseek_v3 import (  # noqa: E402
    DeepseekV3Attention)

SIZES = dict(num_hidden_layers=2, vocab_size=64, intermediate_size=64)
LLAMA = dict(SIZES, model_type="llama", hidden_size=4096,
             num_attention_heads=32, num_key_value_heads=8)
QWEN = dict(SIZES, model_type="qwen2", hidden_size=3584,
            num_attention_heads=28, num_key_value_heads=4, rope_theta=1000000.0)
DEEPSEEK = dict(SIZES, model_type="deepseek_v3", hidden_size=7168,
                num_attention_heads=128, num_key_value_heads=128,
                q_lora_rank=1536, kv_lora_rank=512, qk_nope_head_dim=128,
                qk_rope_head_dim=64, v_head_dim=128, n_routed_experts=8,
                num_experts_per_tok=2, n_group=1, topk_group=1,
                moe_intermediate_size=64, first_k_dense_replace=1,
                n_shared_experts=1)
MODELS = [
    dict(LLAMA, rope_theta=500000.0, max_position_embeddings=131072,
         rope_scaling=dict(rope_type="llama3", factor=8.0, low_freq_factor=1.0,
                           high_freq_factor=4.0,
                           original_max_position_embeddings=8192)),
    dict(LLAMA, max_position_embeddings=16384,
         rope_scaling=dict(type="linear", factor=8.0)),
    dict(SIZES, model_type="gpt_oss", hidden_size=2880, num_attention_heads=64,
         num_key_value_heads=8, head_dim=64, max_position_embeddings=131072,
         num_local_experts=4, num_experts_per_tok=2, sliding_window=128,
         layer_types=["sliding_attention", "full_attention"]),
    dict(QWEN, max_position_embeddings=32768,
         rope_scaling=dict(type="yarn", factor=4.0)),
    dict(DEEPSEEK, rope_theta=10000, max_position_embeddings=163840,
         rope_scaling=dict(type="yarn", factor=40.0, beta_fast=32, beta_slow=1,
                           mscale=1.0, mscale_all_dim=1.0,
                           original_max_position_embeddings=4096)),
    dict(DEEPSEEK, rope_theta=50000.0, max_position_embeddings=131072,
         rope_scaling=dict(type="yarn", factor=32.0, beta_fast=1.0,
                           beta_slow=1.0, mscale=1.0, mscale_all_dim=1.0,
                           original_max_position_embeddings=4096)),
    dict(QWEN, max_position_embeddings=65536,
         rope_scaling=dict(rope_type="yarn", factor=2.5, beta_fast=8.0,
                           beta_slow=2.0, attention_factor=1.25,
                           truncate=False, mscale=0.7, mscale_all_dim=1.3,
                           original_max_position_embeddings=16384)),
]

for keys in MODELS:
    text = json.dumps(keys)
    config = AutoConfig.for_model(**json.loads(text))
    scaling = config.rope_scaling
    kind = scaling.get("rope_type") or scaling.get("type")
    frequencies, amplitude = ROPE_INIT_FUNCTIONS[kind](config, "cpu")
    scale = 0
    if keys["model_type"] == "deepseek_v3":
        with torch.device("meta"):
            scale = DeepseekV3Attention(config, 0).scaling
    print(text)
    print(" ".join("%.17g" % x for x in [amplitude, scale] +
                   frequencies.tolist()))
