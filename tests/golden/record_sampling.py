# SPDX-License-Identifier: Apache-2.0
"""Records the probabilities with which tokens are sampled, by a few lines of NumPy.

    python tests/golden/record_sampling.py > tests/train/sampling.json

The order is that of Hugging Face's generate: the scores divided by the temperature, the top_k largest, and of these the fewest whose
probabilities sum to at least top_p. tests/train/sampling_test.c compares.
"""
import json

import numpy as np


def softmax(x):
    e = np.exp(x - x.max())
    return e / e.sum()


def probabilities(scores, temperature, top_k, top_p):
    if temperature == 0:
        return np.eye(len(scores))[np.argmax(scores)]
    scaled = scores / temperature
    order = np.argsort(-scaled, kind="stable")
    if top_k:
        order = order[:top_k]
    before = np.cumsum(softmax(scaled[order])) - softmax(scaled[order])
    order = order[before < top_p]
    kept = np.full(len(scores), -np.inf)
    kept[order] = scaled[order]
    return softmax(kept)


rng = np.random.default_rng(1)
cases = []
for i in range(40):
    n = int(rng.integers(1, 30))
    scores = np.round(rng.normal(0, 3, n), 2)  # some are equal
    if i % 5 == 4:
        scores[rng.integers(0, n)] = -np.inf
        scores[rng.integers(0, n)] = 1
    case = {"temperature": float(rng.choice([0, 0.5, 0.8, 1, 2, 10])), "top_k": int(rng.choice([0, 1, 2, 5, 40])),
            "top_p": float(rng.choice([0.01, 0.3, 0.9, 0.95, 1]))}
    case["log_probability"] = float(np.log(softmax(scores)[np.argmax(scores)]))
    case["share"] = [float(x) for x in probabilities(scores, **{k: case[k] for k in ("temperature", "top_k", "top_p")})]
    case["score"] = ["-inf" if x == -np.inf else float(x) for x in scores]
    cases.append(case)
print('{"format": 1, "area": "sampling", "program": "tests/train/sampling_test.c", "cases": [')
print(",\n".join(json.dumps(c) for c in cases))
print("]}")
