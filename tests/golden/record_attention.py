# SPDX-License-Identifier: Apache-2.0
"""Records attention_layers.json: attention of DeepSeek, Llama 4, Whisper, T5, gpt-oss and Wan, and the experts of DeepSeek and gpt-oss, as PyTorch and transformers compute it.

    python -m venv v && v/bin/pip install torch==2.15.0 transformers==5.24.0
    v/bin/python tests/golden/record_attention.py tests/golden

Recorded in float64: y, and the gradients of sum(y * cotangent). MultiHeadLatentAttention is transformers' DeepseekV3Attention; LlamaAttention in chunks is
scaled_dot_product_attention with a mask, with the rotation of transformers' Llama; MultiHeadAttention without biases of keys is torch's function alone. Gates
of MixtureOfExperts are those of transformers' DeepseekV3TopkRouter, with one group; its experts compute all steps. With sinks, LlamaAttention is transformers'
GptOssAttention, and with swiglu_limit MixtureOfExperts is its GptOssMLP. With rope_grid or qk_norm it is torch's function with RMSNorm and Wan's rotation, in
which an axis of n rotates the pairs of features by its own position.
"""
import json
import os
import sys
import zlib

import numpy as np
import torch
import transformers
from transformers.models.deepseek_v3.configuration_deepseek_v3 import DeepseekV3Config
from transformers.models.deepseek_v3.modeling_deepseek_v3 import DeepseekV3Attention, DeepseekV3RotaryEmbedding, DeepseekV3TopkRouter
from transformers.models.gpt_oss.configuration_gpt_oss import GptOssConfig
from transformers.models.gpt_oss.modeling_gpt_oss import GptOssAttention, GptOssMLP, GptOssRotaryEmbedding
from transformers.models.llama.modeling_llama import apply_rotary_pos_emb
from transformers.models.t5.configuration_t5 import T5Config
from transformers.models.t5.modeling_t5 import T5Attention

STEPS, FEATURES = 6, 5
LATENT = {
    "latent": {"num_heads": 2, "q_lora_rank": 4, "kv_lora_rank": 3, "qk_nope_head_dim": 3, "qk_rope_head_dim": 2, "v_head_dim": 4},
    "latent-queries-whole": {"num_heads": 3, "kv_lora_rank": 4, "qk_nope_head_dim": 2, "qk_rope_head_dim": 4, "v_head_dim": 3},
    "latent-waves": {"num_heads": 1, "q_lora_rank": 2, "kv_lora_rank": 2, "qk_nope_head_dim": 2, "qk_rope_head_dim": 4, "v_head_dim": 2,
                     "rope_max_wavelength": 50.0, "layer_norm_epsilon": 0.001},
}
CHUNKS = {
    "chunks": {"num_query_heads": 4, "num_key_value_heads": 2, "head_dim": 4, "attention_chunk_size": 3},
    "chunks-that-do-not-divide": {"num_query_heads": 2, "num_key_value_heads": 1, "head_dim": 2, "attention_chunk_size": 4},
    "chunk-of-all": {"num_query_heads": 2, "num_key_value_heads": 2, "head_dim": 2, "attention_chunk_size": 8},
    "not-rotated": {"num_query_heads": 2, "num_key_value_heads": 2, "head_dim": 3, "use_rope": False},
}
KEYS = {"no-key-bias": {"num_heads": 2, "key_dim": 3, "use_key_bias": False},
        "no-key-bias-causal": {"num_heads": 2, "key_dim": 2, "use_key_bias": False, "use_causal_mask": True}}

RELATIVE = {"relative": {"num_heads": 2, "key_value_dim": 3, "relative_attention_num_buckets": 8, "relative_attention_max_distance": 5},
            "relative-decoder": {"num_heads": 2, "key_value_dim": 2, "is_decoder": True, "relative_attention_num_buckets": 6, "relative_attention_max_distance": 4},
            "relative-32": {"num_heads": 1, "key_value_dim": 2}}
EXPERTS = {"sigmoid": {"num_experts": 4, "intermediate_dim": 3, "scoring_func": "sigmoid", "routed_scaling_factor": 2.5},
           "sigmoid-top-1": {"num_experts": 6, "intermediate_dim": 2, "top_k": 1, "scoring_func": "sigmoid", "norm_topk_prob": False},
           "scaled": {"num_experts": 4, "intermediate_dim": 3, "top_k": 3, "scoring_func": "sigmoid", "norm_topk_prob": False, "routed_scaling_factor": 0.5}}
SINKS = {"sinks": {"num_query_heads": 4, "num_key_value_heads": 2, "head_dim": 4, "use_sinks": True, "use_bias": True},
         "sinks-window": {"num_query_heads": 2, "num_key_value_heads": 1, "head_dim": 2, "use_sinks": True, "sliding_window": 3},
         "sinks-yarn": {"num_query_heads": 2, "num_key_value_heads": 2, "head_dim": 8, "use_sinks": True, "use_bias": True, "rope_type": "yarn", "rope_max_wavelength": 30.0,
                        "rope_position_scaling_factor": 4.0, "rope_pretraining_sequence_length": 8, "rope_beta_fast": 2.0, "rope_beta_slow": 0.25}}
GRIDS = {"film": {"num_query_heads": 2, "num_key_value_heads": 2, "head_dim": 8, "use_causal_mask": False, "use_bias": True, "rope_grid": [1, 2, 3],
                  "qk_norm": "rms_norm_across_heads"},
         "picture": {"num_query_heads": 2, "num_key_value_heads": 1, "head_dim": 6, "use_causal_mask": False, "rope_grid": [2, 3], "qk_norm": "rms_norm",
                     "layer_norm_epsilon": 0.01},
         "norm-causal": {"num_query_heads": 2, "num_key_value_heads": 2, "head_dim": 4, "qk_norm": "rms_norm"}}
NORMS = {"norm": {"num_heads": 2, "key_dim": 3, "qk_norm": "rms_norm_across_heads"}}
CLIPPED = {"clipped": {"num_experts": 4, "intermediate_dim": 3, "use_bias": True, "swiglu_limit": 0.5},
           "clipped-top-1": {"num_experts": 3, "intermediate_dim": 2, "top_k": 1, "use_bias": True, "swiglu_limit": 7.0}}


def number(x):
    return float(np.format_float_scientific(np.float32(x), unique=True))


def tensor(a):
    a = a.detach().numpy() if isinstance(a, torch.Tensor) else np.asarray(a)
    return {"shape": list(a.shape), "dtype": "float32", "data": [number(x) for x in a.ravel()]}


def leaf(draw, *shape, mean=0.0):
    return torch.tensor(np.round(draw.normal(mean, 0.6, shape), 2), requires_grad=True)


def rotations(width, wavelength):
    """Cosines and sines (1, steps, width), as transformers makes them."""
    config = DeepseekV3Config(qk_rope_head_dim=width, head_dim=width, rope_parameters={"rope_type": "default", "rope_theta": wavelength})
    return DeepseekV3RotaryEmbedding(config)(torch.zeros(1, STEPS, 1, dtype=torch.float64), torch.arange(STEPS)[None])


def latent(draw, x, c):
    """Weights in their order here, and y; transformers' kernels are transposed, and it joins those of keys and values."""
    n, q, kv, flat, turned, v = (c.get(k) for k in ("num_heads", "q_lora_rank", "kv_lora_rank", "qk_nope_head_dim", "qk_rope_head_dim", "v_head_dim"))
    w = {}
    if q:
        w["query_down/kernel"] = leaf(draw, FEATURES, q)
        w["query_norm/scale"] = leaf(draw, q, mean=1)
    w["query/kernel"] = leaf(draw, q or FEATURES, n, flat + turned)
    w["key_value_down/kernel"] = leaf(draw, FEATURES, kv + turned)
    w["key_value_norm/scale"] = leaf(draw, kv, mean=1)
    w["key/kernel"] = leaf(draw, kv, n, flat)
    w["value/kernel"] = leaf(draw, kv, n, v)
    w["attention_output/kernel"] = leaf(draw, n, v, FEATURES)
    config = DeepseekV3Config(hidden_size=FEATURES, num_attention_heads=n, num_key_value_heads=n, q_lora_rank=q, kv_lora_rank=kv, qk_nope_head_dim=flat,
                              qk_rope_head_dim=turned, v_head_dim=v, rope_interleave=False, attention_bias=False,
                              rope_parameters={"rope_type": "default", "rope_theta": c.get("rope_max_wavelength", 10000.0)})
    config._attn_implementation = "eager"
    layer = DeepseekV3Attention(config, 0).double()
    both = torch.cat([w["key/kernel"], w["value/kernel"]], 2)
    theirs = {"kv_a_proj_with_mqa.weight": w["key_value_down/kernel"].T, "kv_a_layernorm.weight": w["key_value_norm/scale"],
              "kv_b_proj.weight": both.reshape(kv, -1).T, "o_proj.weight": w["attention_output/kernel"].reshape(n * v, FEATURES).T}
    if q:
        theirs |= {"q_a_proj.weight": w["query_down/kernel"].T, "q_a_layernorm.weight": w["query_norm/scale"]}
    theirs["q_b_proj.weight" if q else "q_proj.weight"] = w["query/kernel"].reshape(w["query/kernel"].shape[0], -1).T
    for norm in ("q_a_layernorm", "kv_a_layernorm"):
        if getattr(layer, norm) is not None:
            getattr(layer, norm).variance_epsilon = c.get("layer_norm_epsilon", 1e-6)
    mask = torch.full((STEPS, STEPS), -1e30, dtype=torch.float64).triu(1)[None, None]
    places = rotations(turned, c.get("rope_max_wavelength", 10000.0))
    return w, torch.func.functional_call(layer, theirs, (x,), {"position_embeddings": places, "attention_mask": mask})[0]


def attend(w, x, may, turn, epsilon=1e-6):
    q, k, v = (torch.einsum("btd,dnh->bnth", x, w[f"{p}/kernel"]) + w.get(f"{p}/bias", torch.zeros(1, 1))[None, :, None] for p in ("query", "key", "value"))
    if "query_norm/scale" in w:
        q, k = (normed(a, w[f"{p}_norm/scale"], epsilon) for p, a in (("query", q), ("key", k)))
    if turn is not None:
        q, k = apply_rotary_pos_emb(q, k, *turn)
    k, v = (a.repeat_interleave(q.shape[1] // a.shape[1], 1) for a in (k, v))
    y = torch.nn.functional.scaled_dot_product_attention(q, k, v, attn_mask=may)
    return torch.einsum("bnth,nhd->btd", y, w["attention_output/kernel"]) + w.get("attention_output/bias", 0)


def chunks(draw, x, c):
    n, m, h = c["num_query_heads"], c["num_key_value_heads"], c["head_dim"]
    w = {"query/kernel": leaf(draw, FEATURES, n, h), "key/kernel": leaf(draw, FEATURES, m, h), "value/kernel": leaf(draw, FEATURES, m, h),
         "attention_output/kernel": leaf(draw, n, h, FEATURES)}
    t = torch.arange(STEPS)
    size = c.get("attention_chunk_size", STEPS)
    may = (t[None] <= t[:, None]) & (t[None] // size == t[:, None] // size)
    return w, attend(w, x, may, rotations(h, 10000.0) if c.get("use_rope", True) else None)


def keys(draw, x, c):
    n, h = c["num_heads"], c["key_dim"]
    w = {"query/kernel": leaf(draw, FEATURES, n, h), "query/bias": leaf(draw, n, h), "key/kernel": leaf(draw, FEATURES, n, h),
         "value/kernel": leaf(draw, FEATURES, n, h), "value/bias": leaf(draw, n, h), "attention_output/kernel": leaf(draw, n, h, FEATURES),
         "attention_output/bias": leaf(draw, FEATURES)}
    may = torch.ones(STEPS, STEPS, dtype=torch.bool)
    return w, attend(w, x, may.tril() if c.get("use_causal_mask") else may, None)


def relative(draw, x, c):
    n, k, buckets = c["num_heads"], c["key_value_dim"], c.get("relative_attention_num_buckets", 32)
    w = {"query/kernel": leaf(draw, FEATURES, n, k), "key/kernel": leaf(draw, FEATURES, n, k), "value/kernel": leaf(draw, FEATURES, n, k),
         "attention_output/kernel": leaf(draw, n, k, FEATURES), "relative_attention_bias/embeddings": leaf(draw, buckets, n)}
    config = T5Config(d_model=FEATURES, d_kv=k, num_heads=n, relative_attention_num_buckets=buckets, is_decoder=c.get("is_decoder", False), dropout_rate=0.0,
                      relative_attention_max_distance=c.get("relative_attention_max_distance", 128))
    config._attn_implementation = "eager"
    theirs = {f"{key}.weight": w[f"{path}/kernel"].reshape(FEATURES, -1).T for key, path in (("q", "query"), ("k", "key"), ("v", "value"))}
    theirs |= {"o.weight": w["attention_output/kernel"].reshape(-1, FEATURES).T, "relative_attention_bias.weight": w["relative_attention_bias/embeddings"]}
    mask = torch.full((STEPS, STEPS), -1e30, dtype=torch.float64).triu(1)[None, None] if c.get("is_decoder") else None
    layer = T5Attention(config, has_relative_attention_bias=True, layer_idx=0).double()
    return w, torch.func.functional_call(layer, theirs, (x,), {"mask": mask})[0]


def normed(x, scale, epsilon):
    """x (B, N, T, H); a scale (H) is of each head, (N, H) of all together."""
    x = x.transpose(1, 2)
    if scale.dim() == 1:
        return torch.nn.functional.rms_norm(x, scale.shape, scale, epsilon).transpose(1, 2)
    flat = torch.nn.functional.rms_norm(x.flatten(2), (scale.numel(),), scale.flatten(), epsilon)
    return flat.reshape(x.shape).transpose(1, 2)


def biased(draw, n, m, h, has_bias):
    """Kernels and biases of queries, keys and values, in their order here."""
    w = {}
    for path, heads in (("query", n), ("key", m), ("value", m)):
        w[f"{path}/kernel"] = leaf(draw, FEATURES, heads, h)
        if has_bias:
            w[f"{path}/bias"] = leaf(draw, heads, h)
    w["attention_output/kernel"] = leaf(draw, n, h, FEATURES)
    if has_bias:
        w["attention_output/bias"] = leaf(draw, FEATURES)
    return w


def sinks(draw, x, c):
    n, m, h, has_bias = c["num_query_heads"], c["num_key_value_heads"], c["head_dim"], c.get("use_bias", False)
    w = biased(draw, n, m, h, has_bias)
    w["sinks"] = leaf(draw, n)
    rope = {"rope_type": "default", "rope_theta": c.get("rope_max_wavelength", 10000.0)}
    if "rope_type" in c:
        rope |= {"rope_type": "yarn", "factor": c["rope_position_scaling_factor"], "beta_fast": c["rope_beta_fast"], "beta_slow": c["rope_beta_slow"],
                 "original_max_position_embeddings": c["rope_pretraining_sequence_length"], "truncate": False}
    config = GptOssConfig(hidden_size=FEATURES, num_attention_heads=n, num_key_value_heads=m, head_dim=h, attention_bias=has_bias, rope_parameters=rope,
                          num_hidden_layers=1, layer_types=["sliding_attention" if "sliding_window" in c else "full_attention"], max_position_embeddings=32)
    config._attn_implementation = "eager"
    names = {"query": "q_proj", "key": "k_proj", "value": "v_proj"}
    theirs = {f"{their}.weight": w[f"{ours}/kernel"].reshape(FEATURES, -1).T for ours, their in names.items()}
    theirs |= {"o_proj.weight": w["attention_output/kernel"].reshape(-1, FEATURES).T, "sinks": w["sinks"]}
    if has_bias:
        theirs |= {f"{their}.bias": w[f"{ours}/bias"].flatten() for ours, their in names.items()} | {"o_proj.bias": w["attention_output/bias"]}
    t = torch.arange(STEPS)
    may = (t[None] <= t[:, None]) & (t[:, None] - t[None] < c.get("sliding_window", STEPS))
    mask = torch.where(may, 0.0, -1e30).double()[None, None]
    places = GptOssRotaryEmbedding(config)(torch.zeros(1, STEPS, 1, dtype=torch.float64), torch.arange(STEPS)[None])
    return w, torch.func.functional_call(GptOssAttention(config, 0).double(), theirs, (x,), {"position_embeddings": places, "attention_mask": mask})[0]


def grid_places(grid, width):
    """Cosines and sines (1, steps, width) of Wan's rope_params, pair i of width / 2 in the features i and i + width / 2."""
    half, n = width // 2, len(grid)
    sizes = [half - half // n * (n - 1)] + [half // n] * (n - 1)
    steps = torch.stack(torch.meshgrid(*(torch.arange(s, dtype=torch.float64) for s in grid), indexing="ij"), -1).reshape(-1, n)
    angle = torch.cat([steps[:, i:i + 1] / 10000.0 ** (torch.arange(s, dtype=torch.float64) / s) for i, s in enumerate(sizes)], 1)
    angle = torch.cat([angle, angle], 1)[None]
    return angle.cos(), angle.sin()


def grids(draw, x, c):
    n, m, h, has_bias = c["num_query_heads"], c["num_key_value_heads"], c["head_dim"], c.get("use_bias", False)
    w = biased(draw, n, m, h, has_bias)
    w = with_norms(draw, w, c["qk_norm"], n, m, h)
    may = torch.ones(STEPS, STEPS, dtype=torch.bool)
    return w, attend(w, x, may if c.get("use_causal_mask") is False else may.tril(), grid_places(c.get("rope_grid", [STEPS]), h), c.get("layer_norm_epsilon", 1e-6))


def with_norms(draw, w, kind, n, m, h):
    """The weights, and after those of queries and of keys the numbers that normalized ones are multiplied by."""
    all_ = {}
    for path, v in w.items():
        part, what = path.split("/")
        all_[path] = v
        if part in ("query", "key") and (what == "bias" or f"{part}/bias" not in w):
            all_[f"{part}_norm/scale"] = leaf(draw, *([n if part == "query" else m] if kind.endswith("heads") else []), h, mean=1)
    return all_


def norms(draw, x, c):
    n, h = c["num_heads"], c["key_dim"]
    w = with_norms(draw, biased(draw, n, n, h, True), c["qk_norm"], n, n, h)
    return w, attend(w, x, torch.ones(STEPS, STEPS, dtype=torch.bool), None)


def clipped(draw, x, c):
    n, f, k = c["num_experts"], c["intermediate_dim"], c.get("top_k", 2)
    paths = ("expert_feedforward_gate", "expert_feedforward_intermediate", "expert_feedforward_output")
    w = {"sparse_feedforward_gate_dense/kernel": leaf(draw, FEATURES, n), "sparse_feedforward_gate_dense/bias": leaf(draw, n)}
    for path, shape in zip(paths, ((n, FEATURES, f), (n, FEATURES, f), (n, f, FEATURES))):
        w[f"experts/{path}_dense"], w[f"experts/{path}_bias"] = leaf(draw, *shape), leaf(draw, n, shape[2])
    router, router_bias, gate, gate_bias, up, up_bias, down, down_bias = w.values()
    config = GptOssConfig(hidden_size=FEATURES, intermediate_size=f, num_local_experts=n, num_experts_per_tok=k)
    mlp = GptOssMLP(config).double()
    mlp.experts.limit = c["swiglu_limit"]
    # transformers interleaves gates and hidden features
    theirs = {"router.weight": router.T, "router.bias": router_bias, "experts.gate_up_proj": torch.stack((gate, up), 3).flatten(2),
              "experts.gate_up_proj_bias": torch.stack((gate_bias, up_bias), 2).flatten(1), "experts.down_proj": down, "experts.down_proj_bias": down_bias}
    return w, torch.func.functional_call(mlp, theirs, (x,))[0]


def experts(draw, x, c):
    n, f, k = c["num_experts"], c["intermediate_dim"], c.get("top_k", 2)
    w = {"sparse_feedforward_gate_dense/kernel": leaf(draw, FEATURES, n), "experts/expert_feedforward_gate_dense": leaf(draw, n, FEATURES, f),
         "experts/expert_feedforward_intermediate_dense": leaf(draw, n, FEATURES, f), "experts/expert_feedforward_output_dense": leaf(draw, n, f, FEATURES)}
    router, gate, up, down = w.values()
    config = DeepseekV3Config(hidden_size=FEATURES, n_routed_experts=n, num_experts_per_tok=k, n_group=1, topk_group=1,
                              norm_topk_prob=c.get("norm_topk_prob", True), routed_scaling_factor=c.get("routed_scaling_factor", 1.0))
    _, gates, chosen = torch.func.functional_call(DeepseekV3TopkRouter(config), {"weight": router.T}, (x,))
    gates = torch.zeros(x.shape[0] * STEPS, n, dtype=torch.float64).scatter(1, chosen, gates.double()).reshape(*x.shape[:2], n)
    h = torch.nn.functional.silu(torch.einsum("btd,edf->btef", x, gate)) * torch.einsum("btd,edf->btef", x, up)
    return w, torch.einsum("btef,efd,bte->btd", h, down, gates)


def record(slug, kind, config, make):
    draw = np.random.default_rng(zlib.crc32(slug.encode()))
    x = leaf(draw, 2, STEPS, FEATURES)
    w, y = make(draw, x, config)
    cotangent = np.round(draw.normal(size=y.shape), 2)
    (y * torch.tensor(cotangent)).sum().backward()
    return {"in": {"class": kind, "config": config, "x": tensor(x), "training": False,
                   "weights": [{"path": path, "trainable": True, "value": tensor(v)} for path, v in w.items()]},
            "out": {"y": tensor(y), "cotangent": tensor(cotangent), "dx": tensor(x.grad),
                    "dweights": [{"path": path, "value": tensor(v.grad)} for path, v in w.items()]}}


def main(folder):
    kinds = (("MultiHeadLatentAttention", LATENT, latent), ("LlamaAttention", CHUNKS, chunks), ("MultiHeadAttention", KEYS, keys), ("T5MultiHeadAttention", RELATIVE, relative),
             ("MixtureOfExperts", EXPERTS, experts), ("LlamaAttention", SINKS, sinks), ("LlamaAttention", GRIDS, grids), ("MultiHeadAttention", NORMS, norms),
             ("MixtureOfExperts", CLIPPED, clipped))
    cases = [{"id": f"layers/a-{slug}", "op": "layer", **record(slug, kind, config, make)} for kind, all_, make in kinds for slug, config in all_.items()]
    head = {"format": 1, "area": "layers", "torch": torch.__version__, "transformers": transformers.__version__, "backend": "torch, float64",
            "about": "attention of DeepSeek, Llama 4, Whisper, T5, gpt-oss and Wan, experts of DeepSeek and gpt-oss"}
    with open(os.path.join(folder, "attention_layers.json"), "w") as f:
        f.write(json.dumps(head)[:-1] + ', "cases": [\n' + ",\n".join(json.dumps(c) for c in cases) + "\n]}\n")


main(sys.argv[1])
