# SPDX-License-Identifier: Apache-2.0
"""Jobs that `dtrain config init --from` writes for texts, in a folder and in a table, against scikit-learn.

    python init_texts.py DTRAIN FOLDER

Texts of two, and of four, classes are drawn: words by a power law, some of which a class has more often, and names that
hardly occur twice. A table has two columns more: a number and a category, which depend on the class. The job
is trained without a change; so is a logistic regression on the counts of words and on tf-idf. On texts kept
aside its accuracy, as the mean of three draws, must be at most 0.02 below the better one.
"""
import csv
import os
import shutil
import subprocess
import sys

import numpy as np
from sklearn.compose import make_column_transformer
from sklearn.feature_extraction.text import CountVectorizer, TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

WORDS = ["w%d" % i for i in range(3000)]


def draw(seed, classes, n):
    """Rows of a text, a number and a category; their classes."""
    random = np.random.RandomState(seed)
    usual = 1 / np.arange(3, len(WORDS) + 3)
    share = [usual * np.exp(random.normal(0, 0.35, len(WORDS))) for _ in range(classes)]
    label = random.randint(classes, size=n)
    rows = np.empty((n, 3), object)
    for i, k in enumerate(label):
        words = random.choice(WORDS, random.randint(20, 120), p=share[k] / share[k].sum())
        names = ["n%d" % j for j in random.randint(10**6, size=len(words) // 6)]
        rows[i] = (" ".join(random.permutation([*words, *names])), round(random.normal(0.5 * k), 3),
                   random.choice(list("abc"), p=[0.5, 0.3, 0.2] if k else [0.2, 0.3, 0.5]))
    return rows, label


def write(folder, texts, label):
    shutil.rmtree(folder, ignore_errors=True)
    for i, (text, k) in enumerate(zip(texts, label)):
        os.makedirs("%s/c%d" % (folder, k), exist_ok=True)
        with open("%s/c%d/%04d.txt" % (folder, k, i), "w") as file:
            file.write(text.capitalize() + ".\n")


def write_table(folder, rows, label):
    os.makedirs(folder, exist_ok=True)
    with open(folder + ".csv", "w", newline="") as file:
        lines = csv.writer(file)
        lines.writerow(["text", "size", "kind", "label"])
        lines.writerows([text.capitalize() + ", and so on.", size, kind, "c%d" % k]
                        for (text, size, kind), k in zip(rows, label))


def ours(dtrain, folder, *given):
    """The share of the texts in the folder, or the table, test whose class the job of train predicts."""
    def run(*words):
        done = subprocess.run([dtrain, *words], cwd=folder, capture_output=True, text=True)
        if done.returncode:
            sys.exit("dtrain %s: %s" % (" ".join(words), done.stderr))
        return done.stdout
    table = bool(given)
    with open(folder + "/job.yaml", "w") as job:
        job.write(run("config", "init", "--from", *(given or ["train"])))
    run("fit", "job.yaml", "-q", "--fresh")
    keep = ["--keep", "label"] if table else []
    rows = run("predict", "job.yaml", "--input", "test.csv" if table else "test", "--top", "1", "--format", "csv", *keep)
    cells = [row.split(",") for row in rows.split("\n")[1:-1]]
    return np.mean([cell[1] == (cell[0] if table else cell[0].split("/")[1]) for cell in cells])


def peers(rows, label, beside):
    """The accuracy of logistic regression after the first 800 rows, on the rest."""
    for words in CountVectorizer(), TfidfVectorizer():
        steps = [(words, 0)] + beside * [(StandardScaler(), [1]), (OneHotEncoder(), [2])]
        model = make_pipeline(make_column_transformer(*steps), LogisticRegression(max_iter=2000))
        yield model.fit(rows[:800], label[:800]).score(rows[800:], label[800:])


def main(dtrain, folder):
    for classes, table in (2, False), (4, False), (2, True), (4, True):
        lead = []
        for seed in range(3):
            rows, label = draw(10 * classes + seed, classes, 1200)
            put = write_table if table else write
            put(folder + "/train", rows[:800] if table else rows[:800, 0], label[:800])
            put(folder + "/test", rows[800:] if table else rows[800:, 0], label[800:])
            best = max(peers(rows, label, table))
            mine = ours(dtrain, folder, *(["train.csv", "--target", "label"] if table else []))
            lead.append(mine - best)
            if "-v" in sys.argv:
                print(classes, table, seed, mine, best, file=sys.stderr)
        print("%d classes%s: %s" % (classes, " in a table" if table else "",
                                    "ok" if np.mean(lead) >= -0.02 else "behind by %.4f" % -np.mean(lead)))


main(sys.argv[1], os.path.abspath(sys.argv[2]))
