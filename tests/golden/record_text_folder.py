# SPDX-License-Identifier: Apache-2.0
"""The order and the labels of text_dataset_from_directory, for tests/data/text_folder_test.c.

    python tests/golden/record_text_folder.py > tests/data/text_folder.json

Each text is its own path, so that the data set says which file an example is.
"""
import json
import os
import sys
import tempfile

os.environ.setdefault("KERAS_BACKEND", "jax")
import keras

FILES = ["b/2.txt", "b/10.txt", "b/1.txt", "b/x/0.txt", "b/x-y/0.txt", "b/x/z/9.txt", "b/x/a.TXT", "b/note.md",
         "B/k.txt", "a10/q.txt", "a9/q.txt", "a9/Q.txt", "é/1.txt", "c.txt"]


def order(folder, names):
    data = keras.utils.text_dataset_from_directory(folder, shuffle=False, batch_size=None, verbose=False,
                                                   class_names=names)
    return {"names": names, "classes": data.class_names,
            "examples": [[text.numpy().decode(), int(label)] for text, label in data]}


with tempfile.TemporaryDirectory() as folder:
    for name in FILES:
        path = os.path.join(folder, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w") as file:
            file.write(name)
    cases = [order(folder, names) for names in (None, ["b", "a9", "B"])]
json.dump({"keras": keras.__version__, "files": FILES, "cases": cases}, sys.stdout, ensure_ascii=False, indent=1)
print()
