#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# libsvm text that scikit-learn wrote has the values that scikit-learn reads: drawn matrices of any density, labels and queries.
python=$(scripts/python-tools numpy sklearn) || exit 77
. tests/cli/setup.sh
cd "$TEST_DIR" || exit 1
export DTRAIN
"$python" - <<'END'
import os
import subprocess

import numpy as np
from sklearn.datasets import dump_svmlight_file, load_svmlight_file

r = np.random.default_rng()
for i in range(12):
    n, m = int(r.integers(1, 60)), int(r.integers(1, 40))
    x = r.normal(size=(n, m)) * 10.0 ** r.integers(-9, 9, size=(n, m)) * (r.random((n, m)) < r.random())
    x[0, 0], x[-1, -1] = 1, 0.1
    y = [r.normal(size=n), r.integers(0, 3, n), r.integers(0, 2, n) * 2 - 1][i % 3]
    query = r.integers(0, 1 << 31, n) if i % 2 else None
    comment = "drawn\nof 2 lines" if i % 4 < 2 else None
    dump_svmlight_file(x, y, "a.svm", zero_based=False, comment=comment, query_id=query)
    want = load_svmlight_file("a.svm", n_features=m, zero_based=False, query_id=True)
    qid = ", qid: {dtype: int64}" if query is not None else ""
    with open("job.yaml", "w") as f:
        f.write(f"version: 1\ndataset: {{format: libsvm, train: a.svm, global_batch_size: 1, element: {{x: {{shape: [{m}], dtype: float64}}, label: {{dtype: float64}}{qid}}}}}\n"
                f"model: {{layers: [Input: {{name: x, shape: [{m}]}}, Dense: {{units: 1}}]}}\ncompile: {{optimizer: sgd, loss: mse, target: label}}\nfit: {{epochs: 1}}\n")
    subprocess.run([os.environ["DTRAIN"], "data", "convert", "job.yaml", "-o", "a.npz", "-q"], check=True)
    with np.load("a.npz") as got:
        assert np.array_equal(got["x"], want[0].toarray()), f"{n} x {m}: other features"
        assert np.array_equal(got["label"], want[1]), f"{n} x {m}: other labels"
        assert query is None or np.array_equal(got["qid"], want[2]), f"{n} x {m}: other queries"
END
