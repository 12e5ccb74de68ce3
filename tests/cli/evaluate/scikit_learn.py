# SPDX-License-Identifier: Apache-2.0
"""What `dtrain evaluate --json` explains, against scikit-learn on the outputs that `dtrain predict` writes.

    python scikit_learn.py EXPLAINED.jsonl OUTPUTS.npz TARGETS.txt

TARGETS has a number a line: the class, or the value. Prints what differs, then a count of comparisons.
"""
import json
import sys

import numpy as np
from sklearn import metrics
from sklearn.calibration import calibration_curve

compared = 0


def same(what, got, want):
    global compared
    compared += 1
    got, want = np.array(got, dtype=float), np.array(want, dtype=float)
    if got.shape != want.shape or not np.allclose(got, want, rtol=1e-6, atol=1e-9):
        print(f"{what}: got {got}, scikit-learn says {want}")


def classes(found, actual, predicted):
    n = len(found["classes"])
    report = metrics.classification_report(actual, predicted, labels=range(n), output_dict=True, zero_division=0)
    for i, row in enumerate(found["classes"]):
        for key, theirs in ("precision", "precision"), ("recall", "recall"), ("f1_score", "f1-score"), ("support", "support"):
            same(f"{key} of class {i}", row[key], report[str(i)][theirs])
    # over the classes that there are, as dtrain does
    report = metrics.classification_report(actual, predicted, output_dict=True, zero_division=0)
    for ours, theirs in ("macro_average", "macro avg"), ("weighted_average", "weighted avg"):
        for key in "precision", "recall", "f1-score", "support":
            same(f"{ours} {key}", found[ours][key.replace("-", "_")], report[theirs][key])
    matrix = metrics.confusion_matrix(actual, predicted, labels=range(n))
    same("accuracy", found["accuracy"], metrics.accuracy_score(actual, predicted))
    if n <= 20:
        same("confusion_matrix", found["confusion_matrix"], matrix)
    off = matrix - np.diag(np.diag(matrix))
    same("confused", [x["count"] for x in found["confused"]], sorted(off[off > 0], reverse=True)[:20])


def binary(found, actual, p):
    same("roc_auc", found["roc_auc"], metrics.roc_auc_score(actual, p))
    same("average_precision", found["average_precision"], metrics.average_precision_score(actual, p))
    same("brier_score", found["brier_score"], metrics.brier_score_loss(actual, p))
    fpr, tpr, at = metrics.roc_curve(actual, p, drop_intermediate=False)
    roc = found["roc_curve"]
    points = {round(t, 7): (x, y) for x, y, t in zip(fpr, tpr, at)}
    same("ends of roc", [roc["fpr"][0], roc["tpr"][0], roc["fpr"][-1], roc["tpr"][-1]], [0, 0, 1, 1])
    for x, y, t in list(zip(roc["fpr"], roc["tpr"], roc["thresholds"]))[1:]:
        same(f"roc at {t}", (x, y), points.get(round(t, 7), (np.nan, np.nan)))
    if len(at) <= 200:
        same("points of roc", len(roc["fpr"]), len(at))
    precision, recall, at = metrics.precision_recall_curve(actual, p)
    points = {round(t, 7): (x, y) for x, y, t in zip(recall, precision, at)}
    pr = found["precision_recall_curve"]
    for x, y, t in list(zip(pr["recall"], pr["precision"], pr["thresholds"]))[1:]:
        same(f"precision and recall at {t}", (x, y), points.get(round(t, 7), (np.nan, np.nan)))
    true, mean = calibration_curve(actual, p, n_bins=10)
    same("prob_true", found["calibration_curve"]["prob_true"], true)
    same("prob_pred", found["calibration_curve"]["prob_pred"], mean)
    scores = {
        "f1": lambda a, b: metrics.f1_score(a, b, zero_division=0),
        "accuracy": metrics.accuracy_score,
        "balanced_accuracy": metrics.balanced_accuracy_score,
        "mcc": metrics.matthews_corrcoef,
        "precision": lambda a, b: metrics.precision_score(a, b, zero_division=0),
        "recall": lambda a, b: metrics.recall_score(a, b, zero_division=0),
    }
    for row in found["thresholds"] + [found["best_threshold"]]:
        # a threshold that is a score was rounded to float32 with it
        said = p >= row["threshold"] * (1 - 1e-7)
        for name, score in scores.items():
            same(f"{name} at {row['threshold']}", row[name], score(actual, said))
    best = scores[found["best_threshold"]["for"]]
    most = max(best(actual, p >= t) for t in np.unique(p))
    same("the best score", found["best_threshold"][found["best_threshold"]["for"]], most)


def values(found, actual, predicted):
    error = predicted - actual
    row = found["errors"][0]
    same("mean_error", row["mean_error"], error.mean())
    same("mean_absolute_error", row["mean_absolute_error"], metrics.mean_absolute_error(actual, predicted))
    same("root_mean_squared_error", row["root_mean_squared_error"], metrics.root_mean_squared_error(actual, predicted))
    same("r2_score", row["r2_score"], metrics.r2_score(actual, predicted))
    for q, x in row["quantiles"].items():
        same(f"quantile {q}", np.float32(x), np.float32(np.quantile(error, float(q))))


events = [json.loads(line) for line in open(sys.argv[1])]
(found,) = next(e for e in events if e["event"] == "explained")["outputs"].values()
(output,) = np.load(sys.argv[2]).values()
actual = np.loadtxt(sys.argv[3])
output = output.astype(float)
if found["as"] == "values":
    values(found, actual, output.reshape(len(actual)))
else:
    actual = actual.astype(int)
    alone = output.ndim == 1 or output.shape[1] == 1
    predicted = (output.reshape(len(actual)) > 0.5).astype(int) if alone else output.argmax(1)
    classes(found, actual, predicted)
    if found["as"] == "binary":
        binary(found, actual, output.reshape(len(actual)) if alone else output[:, 1])
print("compared", "enough" if compared > 12 else compared)
