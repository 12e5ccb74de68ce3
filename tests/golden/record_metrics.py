# SPDX-License-Identifier: Apache-2.0
"""Records more_metrics.json: metrics of Keras, the result before, after each update, and after reset.

    python -m venv v && v/bin/pip install keras==3.15.1 tensorflow-cpu==2.21.0
    v/bin/python tests/golden/record_metrics.py > tests/golden/more_metrics.json

The family of IoU has dtype float32 here: Keras' default there cuts the weights of samples to integers.
"""
import json
import os

os.environ.update(TF_CPP_MIN_LOG_LEVEL="3", TF_ENABLE_ONEDNN_OPTS="0", CUDA_VISIBLE_DEVICES="")
import keras
import numpy as np

draw = np.random.default_rng(11)


def number(x):
    x = np.float32(x)
    return float(np.format_float_scientific(x, unique=True)) if np.isfinite(x) else str(x)


def tensor(a):
    a = np.asarray(a)
    data = [number(x) for x in a.ravel()] if a.dtype.kind == "f" else [int(x) for x in a.ravel()]
    return {"shape": list(a.shape), "dtype": str(a.dtype), "data": data}


def softmax(x):
    e = np.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


def scores(*shape):
    return softmax(draw.normal(size=shape)).astype(np.float32)


def classes(n, *shape):
    return draw.integers(0, n, shape).astype(np.int32)


def hot(n, *shape):
    return np.eye(n, dtype=np.float32)[draw.integers(0, n, shape)]


def share(*shape):
    return draw.uniform(0, 1, shape).astype(np.float32).round(2)


def near(*shape):
    y = draw.integers(0, 9, shape).astype(np.float32)
    return y, y + share(*shape)


def yes(*shape):
    return draw.integers(0, 2, shape).astype(np.float32)


def weights(*shape):
    return draw.uniform(0.1, 2, shape).astype(np.float32).round(2)


def given(y, p):
    """Mean takes values alone."""
    return [p] if y is None else [y, p]


def record(number_, slug, name, arguments, updates):
    words = {k: None if v == "none" else v for k, v in arguments.items()}
    metric = getattr(keras.metrics, name)(**({"dtype": "float32"} if "IoU" in name else {}), **words)
    lazy = name in ("F1Score", "FBetaScore", "R2Score") or arguments.get("multi_label")
    results = [0.0 if lazy else metric.result()]  # which Keras does not have before it has seen the number of classes
    for y, p, *w in updates:
        metric.update_state(*given(y, p), sample_weight=w[0] if w else None)
        results.append(metric.result())
    metric.reset_state()
    listed = [[number(x) for x in np.ravel(np.asarray(r))] for r in results + [metric.result()]]
    return {"id": f"metrics/{number_}-{slug}", "op": "metric",
            "in": {"class": name, "arguments": arguments,
                   "updates": [{"args": [tensor(x) for x in given(*u[:2])], "sample_weight": tensor(u[2]) if len(u) > 2 else None} for u in updates]},
            "out": {"result_before_and_after_each_update": listed[:-1], "result_after_reset": listed[-1]}}


CASES = [
    ("mean-iou", "MeanIoU", {"num_classes": 4}, [(classes(4, 6), classes(4, 6).astype(np.float32)), (classes(3, 6), classes(5, 6) + np.float32(0.5))]),
    ("mean-iou-weighted", "MeanIoU", {"num_classes": 3}, [(classes(3, 5), classes(3, 5).astype(np.float32), weights(5)) for _ in range(2)]),
    ("mean-iou-scores", "MeanIoU", {"num_classes": 3, "sparse_y_pred": False}, [(classes(3, 2, 4), scores(2, 4, 3)) for _ in range(2)]),
    ("mean-iou-ignored", "MeanIoU", {"num_classes": 3, "ignore_class": 255, "sparse_y_pred": False},
     [(np.where(yes(2, 5) > 0, classes(3, 2, 5), 255).astype(np.int32), scores(2, 5, 3), weights(2, 5))]),
    ("iou", "IoU", {"num_classes": 4, "target_class_ids": [0, 2]}, [(classes(4, 8), classes(4, 8).astype(np.float32)) for _ in range(2)]),
    ("iou-ignored", "IoU", {"num_classes": 4, "target_class_ids": [1], "ignore_class": 0}, [(classes(4, 8), classes(4, 8).astype(np.float32))]),
    ("one-hot-iou", "OneHotIoU", {"num_classes": 3, "target_class_ids": [0, 2]}, [(hot(3, 6), scores(6, 3)), (hot(3, 6), scores(6, 3), weights(6))]),
    ("one-hot-mean-iou", "OneHotMeanIoU", {"num_classes": 3}, [(hot(3, 6), scores(6, 3)), (hot(3, 6), scores(6, 3), weights(6))]),
    ("one-hot-mean-iou-sparse", "OneHotMeanIoU", {"num_classes": 3, "sparse_y_pred": True}, [(hot(3, 6), classes(3, 6).astype(np.float32))]),
    ("binary-iou", "BinaryIoU", {}, [(yes(6), share(6)), (yes(6), np.array([0.5, 0.5, 0.49, 1, 0, 0.51], np.float32))]),
    ("binary-iou-of-1", "BinaryIoU", {"target_class_ids": [1], "threshold": 0.3}, [(yes(3, 4), share(3, 4)), (yes(3, 4), share(3, 4), weights(3, 4))]),
    ("pearson", "PearsonCorrelation", {}, [(share(3, 5), share(3, 5)) for _ in range(2)]),
    ("pearson-axis-weighted", "PearsonCorrelation", {"axis": 1}, [(share(3, 5, 2), share(3, 5, 2), weights(3, 2)), (share(3, 5, 2), share(3, 5, 2), weights(3, 1))]),
    ("concordance", "ConcordanceCorrelation", {}, [(share(3, 5), share(3, 5), weights(3)) for _ in range(2)]),
    ("auc-multi-label", "AUC", {"multi_label": True}, [(yes(7, 3), share(7, 3)) for _ in range(2)]),
    ("auc-multi-label-weights", "AUC", {"multi_label": True, "num_labels": 3, "label_weights": [0.5, 2.0, 0.25], "curve": "PR", "thresholds": [0.2, 0.45, 0.8]},
     [(yes(7, 3), share(7, 3), weights(7)) for _ in range(2)]),
    ("auc-label-weights", "AUC", {"label_weights": [0.5, 2.0, 0.25], "thresholds": [0.2, 0.45, 0.8]}, [(yes(7, 3), share(7, 3)) for _ in range(2)]),
    ("auc-gain", "AUC", {"curve": "PRGAIN", "num_thresholds": 20}, [(yes(9), share(9)) for _ in range(2)]),
    ("auc-gain-multi-label", "AUC", {"curve": "PRGAIN", "multi_label": True, "summation_method": "majoring", "num_thresholds": 9}, [(yes(9, 2), share(9, 2))]),
    ("f1-each", "F1Score", {}, [(hot(3, 6), scores(6, 3)) for _ in range(2)]),
    ("fbeta-each-threshold", "FBetaScore", {"beta": 2.0, "threshold": 0.4}, [(yes(6, 3), share(6, 3), weights(6)) for _ in range(2)]),
    ("r2-each", "R2Score", {"class_aggregation": "none"}, [near(5, 3) for _ in range(2)]),
    ("precision-thresholds", "Precision", {"thresholds": [0.2, 0.5, 0.9]}, [(yes(6), share(6)) for _ in range(2)]),
    # Weights that are repeated: the divisor is their sum after that.
    ("mean-weights-of-outputs", "Mean", {}, [(None, share(2, 3), weights(1, 3)), (None, share(4, 3), weights(4, 1))]),
    ("mean-weight-of-all", "Mean", {}, [(None, share(3), weights()), (None, share(4), weights())]),
    ("mean-weights-of-steps", "Mean", {}, [(None, share(2, 3, 4), weights(1, 3)), (None, share(2, 3, 4), weights(1, 1, 4))]),
    ("binary-accuracy-weights-of-outputs", "BinaryAccuracy", {}, [(yes(2, 3), share(2, 3), weights(1, 3)), (yes(4, 3), share(4, 3), weights(1, 1))]),
    ("root-error-weights-of-outputs", "RootMeanSquaredError", {}, [(share(2, 3), share(2, 3), weights(1, 3)), (share(2, 3), share(2, 3), weights())]),
    # Labels to ignore: they leave the divisor where there are weights, and only there.
    ("crossentropy-ignored", "SparseCategoricalCrossentropy", {"ignore_class": 0}, [(classes(3, 8), scores(8, 3), weights(8)), (classes(3, 8), scores(8, 3))]),
    ("crossentropy-ignored-column", "SparseCategoricalCrossentropy", {"ignore_class": 2}, [(classes(3, 8), scores(8, 3), weights(8, 1)) for _ in range(2)]),
    ("crossentropy-ignored-steps", "SparseCategoricalCrossentropy", {"ignore_class": 1},
     [(classes(3, 2, 4), scores(2, 4, 3), weights(2, 4)), (classes(3, 2, 4), scores(2, 4, 3), weights(1, 4))]),
]


def main():
    head = {"format": 1, "area": "metrics", "keras": keras.__version__, "about": "Keras metrics: the result before, after each update, after reset"}
    lines = [json.dumps(record(201 + i, *c)) for i, c in enumerate(CASES)]
    print(json.dumps(head)[:-1] + ', "cases": [\n' + ",\n".join(lines) + "\n]}")


main()
