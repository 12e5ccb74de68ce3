# SPDX-License-Identifier: Apache-2.0
"""Records names.json: what Keras' `get` takes for a loss, a metric, an optimizer, an activation, an initializer, a regularizer; the class that it names, or
for an activation the function; and the name that a metric of the class has in logs.

    python -m venv v && v/bin/pip install keras==3.15.1 tensorflow-cpu==2.21.0
    v/bin/python tests/golden/record_names.py > tests/golden/names.json
"""
import inspect
import json
import os

os.environ.update(TF_CPP_MIN_LOG_LEVEL="3", CUDA_VISIBLE_DEVICES="")
import keras
from keras.src import activations, initializers, losses, metrics, optimizers, regularizers

ARGUMENTS = [{}, {"num_classes": 2}, {"num_classes": 2, "target_class_ids": [0]}, {"precision": 0.5}, {"recall": 0.5}, {"sensitivity": 0.5}, {"specificity": 0.5}]
ABSTRACT = {"Loss", "LossFunctionWrapper", "Metric", "MeanMetricWrapper", "Optimizer", "LossScaleOptimizer", "Initializer", "Regularizer"}


def make(kind):
    for arguments in ARGUMENTS:
        try:
            keras.backend.clear_session()
            return kind(**arguments), arguments
        except (TypeError, ValueError):
            pass
    raise ValueError(kind)


# Losses are looked up as functions where they are written in lower case.
of_function = {make(c)[0].fn.__name__: c.__name__ for c in losses.ALL_OBJECTS if inspect.isclass(c) and c.__name__ not in ABSTRACT}
tables = {"loss": losses, "metric": metrics, "optimizer": optimizers, "activation": activations, "initializer": initializers, "regularizer": regularizers}
rows = []
for noun, module in tables.items():
    for identifier, found in sorted(module.ALL_OBJECTS_DICT.items(), key=lambda x: str(x[0])):
        if not isinstance(identifier, str) or found.__name__ in ABSTRACT:
            continue
        assert module.get(identifier) is not None if noun in ("loss", "activation") else True
        row = {"noun": noun, "identifier": identifier, "names": of_function[found.__name__] if noun == "loss" and not inspect.isclass(found) else found.__name__}
        if noun == "metric":
            metric, arguments = make(found)
            row |= {"arguments": arguments, "key": metric.name}
        rows.append(row)
print('{"format": 1, "area": "names", "program": "tests/model/names_test.c", "keras": "%s", "cases": [' % keras.__version__)
print(",\n".join(json.dumps(r) for r in rows))
print("]}")
