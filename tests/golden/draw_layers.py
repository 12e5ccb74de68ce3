# SPDX-License-Identifier: Apache-2.0
"""Layers for record_random.py: what comes of a seed, and each layer's arguments as it says, with the shape that it gives."""
import numpy as np

SMOOTH = ["tanh", "sigmoid", "softplus", "softsign", "silu", "gelu", "mish", "elu", "selu", "celu", "log_sigmoid", "tanh_shrink", "squareplus",
          "softmax", "log_softmax", "hard_silu"]
BENT = ["relu", "leaky_relu", "relu6", "hard_sigmoid", "hard_tanh", "soft_shrink", "hard_shrink", "sparse_plus", "sparse_sigmoid"]
REGULARIZERS = ["l1", "l2", {"L2": {"l2": 0.05}}, {"L1L2": {"l1": 0.01, "l2": 0.02}}]
CONSTRAINTS = ["non_neg", {"MaxNorm": {"max_value": 0.9}}, {"UnitNorm": {"axis": -1}},
               {"MinMaxNorm": {"min_value": 0.3, "max_value": 1.2, "rate": 0.5}}]


class Draw:
    """What comes of a seed."""

    def __init__(self, seed):
        self.random = np.random.default_rng(seed)

    def chance(self, share):
        return bool(self.random.random() < share)

    def one(self, options):
        return options[self.random.integers(len(options))]

    def whole(self, low, high):
        return int(self.random.integers(low, high + 1))

    def real(self, low, high):
        return round(float(self.random.uniform(low, high)), 3)

    def some(self, share=0.3, **options):
        """Each key with that chance, as one of its values."""
        return {key: self.one(values) for key, values in options.items() if self.chance(share)}

    def of_weights(self, *roles):
        return {**self.some(0.08, **{f"{role}_regularizer": REGULARIZERS for role in roles}),
                **self.some(0.08, **{f"{role}_constraint": CONSTRAINTS for role in roles})}

    def activation(self):
        return self.some(0.6, activation=SMOOTH + BENT)


# ---- layers: (draw, shape of an example) to (arguments, shape), or None where the layer cannot be ----

def dense(d, shape):
    units = d.whole(2, 5)
    return {"units": units, **d.activation(), **d.some(0.2, use_bias=[False], activity_regularizer=REGULARIZERS),
            **d.of_weights("kernel", "bias")}, shape[:-1] + [units]


def window(d, sizes, kinds=("valid", "same"), dilates=True):
    """Arguments of a window over these sizes, and how many places it has."""
    kernel = [d.whole(1, min(3, n)) for n in sizes]
    stride = d.whole(1, 2)
    fits = all(k * 2 - 1 <= n for k, n in zip(kernel, sizes))
    dilation = 2 if dilates and stride == 1 and d.chance(0.2) and fits else 1
    padding = d.one(kinds)
    reach = [(k - 1) * dilation if padding == "valid" else 0 for k in kernel]
    places = [-(-(n - r) // stride) for n, r in zip(sizes, reach)]
    dilated = {"dilation_rate": [dilation] * len(sizes)} if dilation > 1 else {}
    return {"kernel_size": kernel, "strides": [stride] * len(sizes), "padding": padding, **dilated}, places


def conv(d, shape):
    args, places = window(d, shape[:-1], ("valid", "same", "causal") if len(shape) == 2 else ("valid", "same"))
    groups = shape[-1] if d.chance(0.2) else 1
    filters = groups * d.whole(1, 3)
    apart = {"groups": groups} if groups > 1 else {}
    return {"filters": filters, **args, **apart, **d.activation(), **d.some(0.2, use_bias=[False]),
            **d.of_weights("kernel", "bias")}, places + [filters]


def depthwise(d, shape):
    args, places = window(d, shape[:-1])
    more = d.whole(1, 2)
    return {"depth_multiplier": more, **args, **d.activation(), **d.of_weights("depthwise", "bias")}, places + [shape[-1] * more]


def separable(d, shape):
    args, places = window(d, shape[:-1])
    filters = d.whole(1, 4)
    more = d.some(0.4, depth_multiplier=[2])
    return {"filters": filters, **args, **more, **d.activation(), **d.of_weights("depthwise", "pointwise", "bias")}, places + [filters]


def transposed(d, shape):
    kernel, stride, padding = d.whole(1, 3), d.whole(1, 2), d.one(["valid", "same"])
    places = [n * stride + (max(kernel - stride, 0) if padding == "valid" else 0) for n in shape[:-1]]
    filters = d.whole(1, 3)
    if max(places) > 12:
        return None
    return {"filters": filters, "kernel_size": kernel, "strides": stride, "padding": padding, **d.activation()}, places + [filters]


def pooling(d, shape):
    args, places = window(d, shape[:-1], dilates=False)
    return {"pool_size": args["kernel_size"], "strides": args["strides"], "padding": args["padding"]}, places + shape[-1:]


def recurrent(d, shape):
    units, sequences = d.whole(2, 4), d.chance(0.6)
    more = d.some(0.3, go_backwards=[True], use_bias=[False], activation=["tanh", "sigmoid", "softsign"], zero_output_for_mask=[True])
    out = (shape[:-1] if sequences else []) + [units]
    return {"units": units, "return_sequences": sequences, **more, **d.of_weights("kernel", "recurrent", "bias")}, out


def both_ways(d, shape):
    (args, out), kind, mode = recurrent(d, shape), d.one(["LSTM", "GRU", "SimpleRNN"]), d.one(["concat", "sum", "mul", "ave"])
    return {"layer": {kind: args}, "merge_mode": mode}, out[:-1] + [out[-1] * (2 if mode == "concat" else 1)]


def attention(d, shape):
    return {"num_heads": d.whole(1, 3), "key_dim": d.whole(1, 3), **d.some(0.3, value_dim=[2], use_bias=[False], use_causal_mask=[True]),
            **d.of_weights("kernel")}, shape


def grouped_attention(d, shape):
    heads = d.whole(1, 2)
    return {"head_dim": d.whole(1, 3), "num_query_heads": heads * d.whole(1, 2), "num_key_value_heads": heads, **d.some(0.3, use_bias=[False])}, shape


def batch_normalization(d, shape):
    return {"synchronized": True, **d.some(momentum=[0.5, 0.9], epsilon=[0.01], center=[False], scale=[False]),
            **d.of_weights("gamma", "beta")}, shape


def normalization(d, shape):
    return {"epsilon": d.one([0.01, 0.1]), **d.some(center=[False], scale=[False]), **d.of_weights("gamma", "beta")}, shape


def group_normalization(d, shape):
    return {"epsilon": 0.05, "groups": d.one([n for n in (-1, 1, 2) if shape[-1] % n == 0]),
            **d.some(center=[False], scale=[False])}, shape


def around(d, shape):
    sides = [[d.whole(0, 1), d.whole(0, 1)] for _ in shape[:-1]]
    return {"padding": sides[0] if len(sides) == 1 else sides}, [n + sum(s) for n, s in zip(shape, sides)] + shape[-1:]


def cut(d, shape):
    sides = [[1, 0] if n > 2 else [0, 0] for n in shape[:-1]]
    if not np.any(sides):
        return None  # a slice of everything keeps Keras' mask on JAX, and loses it on TensorFlow
    return {"cropping": sides[0] if len(sides) == 1 else sides}, [n - sum(s) for n, s in zip(shape, sides)] + shape[-1:]


def larger(d, shape):
    return ({"size": 2}, [n * 2 for n in shape[:-1]] + shape[-1:]) if max(shape) <= 5 else None


def turned(d, shape):
    order = d.random.permutation(len(shape))
    return {"dims": [int(i) + 1 for i in order]}, [shape[i] for i in order]


def all_places(d, shape):
    return {}, shape[-1:]


def flat(d, shape):
    return {}, [int(np.prod(shape))]


def shaped(keys):
    """Of layers that leave the shape as it is: each key with a chance, as one of its values."""
    return lambda d, shape: (d.some(0.6, **keys), shape)


ANY = {
    "Dense": dense, "BatchNormalization": batch_normalization, "LayerNormalization": normalization, "GroupNormalization": group_normalization,
    "RMSNormalization": shaped({}), "UnitNormalization": shaped({}),
    "ReLU": shaped({"max_value": [1.5], "negative_slope": [0.1], "threshold": [0.2]}),
    "LeakyReLU": shaped({"negative_slope": [0.1, 0.4]}), "ELU": shaped({"alpha": [0.5]}), "PReLU": shaped({"alpha_constraint": ["non_neg"]}),
    "Softmax": shaped({}), "Dropout": lambda d, shape: ({"rate": 0.0}, shape), "Rescaling": lambda d, shape: ({"scale": 0.7, "offset": 0.1}, shape),
    "Activation": lambda d, shape: ({"activation": d.one(SMOOTH + BENT)}, shape), "Identity": shaped({}),
}
STEPPED = {
    "Conv1D": conv, "DepthwiseConv1D": depthwise, "SeparableConv1D": separable, "Conv1DTranspose": transposed, "MaxPooling1D": pooling,
    "AveragePooling1D": pooling, "LSTM": recurrent, "GRU": recurrent, "SimpleRNN": recurrent, "Bidirectional": both_ways,
    "MultiHeadAttention": attention, "GroupQueryAttention": grouped_attention, "ZeroPadding1D": around, "Cropping1D": cut,
    "UpSampling1D": larger, "Permute": turned,
    "GlobalAveragePooling1D": all_places, "GlobalMaxPooling1D": all_places,
}
PICTURED = {
    "Conv2D": conv, "DepthwiseConv2D": depthwise, "SeparableConv2D": separable, "Conv2DTranspose": transposed, "MaxPooling2D": pooling,
    "AveragePooling2D": pooling, "ZeroPadding2D": around, "Cropping2D": cut, "UpSampling2D": larger, "Permute": turned,
    "GlobalAveragePooling2D": all_places, "GlobalMaxPooling2D": all_places,
}
BY_RANK = {1: {**ANY, "Reshape": lambda d, shape: ({"target_shape": [shape[0], 1]}, [shape[0], 1])}, 2: {**ANY, **STEPPED}, 3: {**ANY, **PICTURED}}
