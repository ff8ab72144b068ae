#!/usr/bin/env python3
"""Makes families.tsv: numbers of parameters of transformers' classes.

    python3 tests/graph/make_families.py > tests/graph/families.tsv

It needs torch and transformers (5.24), and no weights: models are built on the
meta device.  A row is a model_type and variant, the number of parameters of
the model (of one whose vision tower is not modelled, what is not the tower), and
the configuration as JSON without keys that shape nothing.  check_model_families.c reads
the table.
"""
import json
import math
import sys
import warnings

import torch
import transformers
from transformers import (CONFIG_MAPPING, AutoModelForCausalLM,
                          AutoModelForImageTextToText)

warnings.filterwarnings("ignore")
transformers.logging.set_verbosity_error()

TYPES = """deepseek_v2 deepseek_v3 deepseek_v32 deepseek_v4 glm_moe_dsa glm4_moe_lite youtu
minicpm3 sarvam_mla kimi_linear glm4_moe solar_open sarvam_moe hy_v3 qwen2_moe
qwen3_next qwen3_5_text qwen3_5_moe_text gpt_oss minimax_m2 minimax_m3_vl_text olmoe flex_olmo
granitemoe granitemoeshared granitemoe_swa granitemoehybrid phimoe ernie4_5_moe
exaone_moe afmoe llama4_text cohere2_moe nemotron_h bamba lfm2 gemma gemma2
vaultgemma gemma3_text gemma4_text olmo2 olmo3 cohere cohere2 phi ernie4_5 arcee glm glm4
exaone exaone4 starcoder2 stablelm gpt_neox persimmon internlm3 helium cwm
iquestcoder olmo_hybrid granite_swa llama mistral mixtral qwen2 qwen3 qwen3_moe
gpt2 bloom mpt seed_oss smollm3 granite phi3 ministral3 gemma3 qwen3_5
qwen3_5_moe qwen3_vl qwen3_vl_moe qwen2_vl qwen2_5_vl llama4 mistral3 glm4v internvl llava
kimi_k25 minimax_m3_vl""".split()

# What the defaults of some classes leave out, as published files have it.
ALWAYS = {"glm4_moe": {"head_dim": 128},
          "gemma4_text": {"hidden_size_per_layer_input": 0}}

# Keys that are refused where they are true.
REFUSED = {"mlp_bias": ("deepseek_v2", "deepseek_v32", "deepseek_v4", "glm_moe_dsa",
                        "hy_v3", "minicpm3", "nemotron_h"),
           "use_bias": ("nemotron_h", "ernie4_5_moe"),
           "use_qk_norm": ("cohere",),
           "tie_word_embeddings": ("kimi_linear", "nemotron_h")}

VARIANTS = [{}, {"tie_word_embeddings": None}, {"attention_bias": None},
            {"mlp_bias": None}, {"use_bias": None}, {"q_lora_rank": "null"},
            {"use_qk_norm": None}, {"first_k_dense_replace": 5},
            {"attention_k_eq_v": None},
            {"hc_mult": 2, "o_groups": 4, "num_hidden_layers": 6,
             "index_head_dim": 64},
            {"num_hidden_layers": 3, "index_n_heads": 2, "layer_types":
             ["full_attention", "minimax_m3_sparse", "minimax_m3_sparse"],
             "mlp_layer_types": ["dense", "dense", "sparse"],
             "dense_intermediate_size": 4096},
            {"enable_moe_block": True, "num_experts": 16, "top_k_experts": 2,
             "moe_intermediate_size": 704}]

# Vision towers that are modelled: their keys and parameters are kept.
SEEN = ("qwen2_vl", "qwen2_5_vl", "qwen3_vl", "qwen3_vl_moe", "qwen3_5",
        "qwen3_5_moe")

TOWER = ("vision", "visual", "projector", "embed_vision", "merger")

DROP = set("""return_dict output_hidden_states output_attentions architectures
id2label label2id problem_type transformers_version _name_or_path rope_scaling
initializer_range use_cache pad_token_id bos_token_id eos_token_id rope_theta
attention_dropout rope_parameters router_aux_loss_coef output_router_logits
time_step_limit chunk_size_feed_forward is_encoder_decoder rms_norm_eps
audio_config layer_rope_theta no_rope_layers hidden_act dtype
moe_layers""".split())


def clean(value):
    if not isinstance(value, dict):
        return value
    kept = {k: clean(v) for k, v in value.items() if k not in DROP}
    if "vision_config" in value and value["model_type"] not in SEEN:
        kept["vision_config"] = {}
    return kept


def count(config):
    with torch.device("meta"):
        try:
            if config.model_type in SEEN:
                raise ValueError
            model = AutoModelForCausalLM.from_config(config)
        except ValueError:
            model = AutoModelForImageTextToText.from_config(config)
    return sum(math.prod(p.shape) for n, p in model.named_parameters()
               if config.model_type in SEEN
               or not any(word in n for word in TOWER))


def main():
    print("# made by make_families.py with transformers %s"
          % transformers.__version__)
    print("type\tvariant\tparameters\tconfig")
    for name in sys.argv[1:] or TYPES:
        plain = json.loads(CONFIG_MAPPING[name]().to_json_string(
            use_diff=False))
        for variant in VARIANTS:
            keys = dict(ALWAYS.get(name, {}))
            for key, value in variant.items():
                if key not in plain:
                    keys = None
                    break
                keys[key] = (None if value == "null" else
                             not plain[key] if value is None else value)
            if keys is None or ("text_config" in plain and variant):
                continue
            if any(name in REFUSED.get(key, ()) for key in variant):
                continue
            try:
                config = CONFIG_MAPPING[name](**keys)
                if name in SEEN:  # the defaults contradict each other
                    setattr(config.vision_config, "hidden_size"
                            if name == "qwen2_vl" else "out_hidden_size",
                            config.text_config.hidden_size)
                text = clean(json.loads(config.to_json_string(
                    use_diff=False)))
                print(name, " ".join("%s=%s" % i for i in keys.items()) or "-",
                      count(config),
                      json.dumps(text, separators=(",", ":")), sep="\t",
                      flush=True)
            except Exception as error:  # a variant that the class refuses
                print(name, variant, str(error)[:80], file=sys.stderr)


if __name__ == "__main__":
    main()
