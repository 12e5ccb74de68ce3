# SPDX-License-Identifier: Apache-2.0
"""A job that `dtrain config init --from` writes for a folder of texts, against scikit-learn.

    python init_texts.py DTRAIN FOLDER

Texts of two, and of four, classes are drawn: words by a power law, some of which a class has more often. The job
is trained without a change; so is a logistic regression on the counts of words and on tf-idf. On texts kept
aside its accuracy, as the mean of three draws, must be at most 0.02 below the better one.
"""
import os
import shutil
import subprocess
import sys

import numpy as np
from sklearn.feature_extraction.text import CountVectorizer, TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline

WORDS = ["w%d" % i for i in range(3000)]


def draw(seed, classes, n):
    random = np.random.RandomState(seed)
    usual = 1 / np.arange(3, len(WORDS) + 3)
    share = [usual * np.exp(random.normal(0, 0.35, len(WORDS))) for _ in range(classes)]
    label = random.randint(classes, size=n)
    texts = [" ".join(random.choice(WORDS, random.randint(20, 120), p=share[k] / share[k].sum())) for k in label]
    return texts, label


def write(folder, texts, label):
    shutil.rmtree(folder, ignore_errors=True)
    for i, (text, k) in enumerate(zip(texts, label)):
        os.makedirs("%s/c%d" % (folder, k), exist_ok=True)
        with open("%s/c%d/%04d.txt" % (folder, k, i), "w") as file:
            file.write(text.capitalize() + ".\n")


def ours(dtrain, folder):
    def run(*words):
        done = subprocess.run([dtrain, *words], cwd=folder, capture_output=True, text=True)
        if done.returncode:
            sys.exit("dtrain %s: %s" % (" ".join(words), done.stderr))
        return done.stdout
    with open(folder + "/job.yaml", "w") as job:
        job.write(run("config", "init", "--from", "train"))
    run("fit", "job.yaml", "-q", "--fresh")
    rows = run("predict", "job.yaml", "--input", "test", "--top", "1", "--format", "csv").split("\n")[1:-1]
    right = [row.split(",")[1] == row.split("/")[1] for row in rows]
    return np.mean(right)


def main(dtrain, folder):
    for classes in 2, 4:
        lead = []
        for seed in range(3):
            texts, label = draw(10 * classes + seed, classes, 1200)
            write(folder + "/train", texts[:800], label[:800])
            write(folder + "/test", texts[800:], label[800:])
            peers = [make_pipeline(words, LogisticRegression(max_iter=1000)).fit(texts[:800], label[:800])
                     .score(texts[800:], label[800:]) for words in (CountVectorizer(), TfidfVectorizer())]
            mine = ours(dtrain, folder)
            lead.append(mine - max(peers))
            if "-v" in sys.argv:
                print(classes, seed, mine, peers, file=sys.stderr)
        print("%d classes: %s" % (classes, "ok" if np.mean(lead) >= -0.02 else "behind by %.4f" % -np.mean(lead)))


main(sys.argv[1], os.path.abspath(sys.argv[2]))
