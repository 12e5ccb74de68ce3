# SPDX-License-Identifier: Apache-2.0
"""Jobs that `dtrain config init --from` writes, against scikit-learn's linear model and MLP.

    python init_peers.py DTRAIN FOLDER

Each table is written as it is shipped: sorted by class, with empty fields, targets as 0 and 1. A quarter of
it is kept aside. The job is trained without a change on the rest, and so are scikit-learn's models, with
median, most frequent category, one-hot and standardization. On what was kept aside the accuracy (R2 for
numbers), as the mean of three divisions of small tables, must be at most 0.02 below the better one.
Prints a line for each table.
"""
import os
import subprocess
import sys
import warnings

import numpy as np
import pandas as pd
from sklearn import datasets
from sklearn.compose import make_column_transformer
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.metrics import accuracy_score, r2_score
from sklearn.model_selection import train_test_split
from sklearn.neural_network import MLPClassifier, MLPRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

warnings.filterwarnings("ignore")
IDS = ["PassengerId", "Name", "Ticket", "Cabin"]


def titanic(random, n=891):
    sex = random.choice(["male", "female"], n, p=[0.65, 0.35])
    grade = random.choice([1, 2, 3], n, p=[0.24, 0.21, 0.55])
    age = np.clip(random.normal(30, 14, n), 0.4, 80).round(1)
    port = random.choice(["S", "C", "Q"], n, p=[0.72, 0.19, 0.09])
    siblings = random.poisson(0.5, n)
    score = 2.6 * (sex == "female") - 0.9 * (grade - 1) - 0.02 * (age - 30) - 0.3 * siblings + 1.5 * (age < 10)
    survived = (random.rand(n) < 1 / (1 + np.exp(0.4 - score))).astype(int)
    table = pd.DataFrame({
        "PassengerId": range(1, n + 1), "Survived": survived, "Pclass": grade,
        "Name": ["Family%d, M. Given%d" % (i % 613, i % 97) for i in range(n)], "Sex": sex, "Age": age,
        "SibSp": siblings, "Ticket": ["A/%d %d" % (i % 5, 1000 + 37 * i) for i in range(n)],
        "Fare": np.exp(random.normal(3.8 - 0.7 * (grade - 1), 0.7)).round(4),
        "Cabin": ["C%d" % (i % 149) if i % 5 == 0 else np.nan for i in range(n)], "Embarked": port})
    table.loc[random.rand(n) < 0.2, "Age"] = np.nan
    table.loc[[61, 829], "Embarked"] = np.nan
    return table


def penguins(random):
    kind = np.repeat([0, 1, 2], [152, 68, 124])
    n = len(kind)
    sex = random.choice(["male", "female"], n)
    male = sex == "male"
    table = pd.DataFrame({
        "species": np.array(["Adelie", "Chinstrap", "Gentoo"])[kind],
        "island": [random.choice([["Torgersen", "Biscoe", "Dream"], ["Dream"], ["Biscoe"]][k]) for k in kind],
        "bill_length_mm": (np.array([38.8, 48.8, 47.5])[kind] + random.normal(0, 2.7, n) + 1.5 * male).round(1),
        "bill_depth_mm": (np.array([18.3, 18.4, 15.0])[kind] + random.normal(0, 1, n) + 0.7 * male).round(1),
        "flipper_length_mm": (np.array([190, 196, 217])[kind] + random.normal(0, 6.5, n)).round(),
        "body_mass_g": (np.array([3700, 3733, 5076])[kind] + random.normal(0, 350, n) + 300 * male).round(-1),
        "sex": sex, "year": random.choice([2007, 2008, 2009], n)})
    table.loc[[3, 271], table.columns[2:6]] = np.nan
    table.loc[random.rand(n) < 0.03, "sex"] = np.nan
    return table


def large(random, n=100000):
    x = random.normal(size=(n, 8))
    kind = random.choice(list("abcdef"), n)
    shift = dict(zip("abcdef", [-1, -0.5, 0, 0.5, 1, 1.5]))
    score = 1.5 * x[:, 0] + x[:, 1] * x[:, 2] + np.sin(2 * x[:, 3]) + 0.5 * (x[:, 4] > 0) * x[:, 5]
    score += np.array([shift[k] for k in kind]) + 0.7 * random.logistic(size=n)
    table = pd.DataFrame(x.round(4), columns=["f%d" % i for i in range(8)])
    table["kind"] = kind
    table["bought"] = (score > 0).astype(int)
    return table.sort_values("bought", kind="stable")


def shipped(name):
    table = getattr(datasets, "load_" + name)(as_frame=True).frame.copy()
    if name in ("iris", "wine"):
        names = getattr(datasets, "load_" + name)().target_names
        table["target"] = [str(names[i]) for i in table["target"]]
    return table.sort_values("target", kind="stable") if name != "diabetes" else table



def peers(train, test, target, number):
    inputs = [c for c in train if c != target and c not in IDS]
    numbers = [c for c in inputs if pd.api.types.is_numeric_dtype(train[c])]
    words = [c for c in inputs if c not in numbers]
    small = len(train) < 50000
    models = ([Ridge(), MLPRegressor(random_state=0, max_iter=300)] if number else
              [LogisticRegression(max_iter=1000), MLPClassifier(random_state=0, max_iter=300 if small else 20)])
    best = -np.inf
    for model in models:
        steps = make_column_transformer(
            (make_pipeline(SimpleImputer(strategy="median"), StandardScaler()), numbers),
            (make_pipeline(SimpleImputer(strategy="most_frequent"), OneHotEncoder(handle_unknown="ignore")), words))
        best = max(best, make_pipeline(steps, model).fit(train[inputs], train[target]).score(test[inputs], test[target]))
    return best


def ours(dtrain, folder, train, test, target, number):
    os.makedirs(folder, exist_ok=True)
    train.to_csv(folder + "/train.csv", index=False)
    test.to_csv(folder + "/test.csv", index=False)

    def run(*words):
        done = subprocess.run([dtrain, *words], cwd=folder, capture_output=True, text=True)
        if done.returncode:
            sys.exit("dtrain %s: %s" % (" ".join(words), done.stderr))
        return done.stdout
    with open(folder + "/job.yaml", "w") as job:
        job.write(run("config", "init", "--from", "train.csv", "--target", target))
    run("fit", "job.yaml", "-q")
    run("predict", "job.yaml", "--input", "test.csv", "-o", "out.csv")
    out = pd.read_csv(folder + "/out.csv")
    if number:
        return r2_score(test[target], out.iloc[:, 0])
    names = [c[len(target) + 1:] for c in out]
    return accuracy_score(test[target].astype(str), [names[i] for i in out.to_numpy().argmax(1)])


def main(dtrain, folder):
    random = np.random.RandomState(3)
    tables = [("iris", shipped("iris"), "target", 3), ("wine", shipped("wine"), "target", 3),
              ("breast_cancer", shipped("breast_cancer"), "target", 3), ("diabetes", shipped("diabetes"), "target", 3),
              ("digits", shipped("digits"), "target", 1), ("titanic", titanic(random), "Survived", 3),
              ("penguins", penguins(random), "species", 3), ("large", large(random), "bought", 1)]
    for name, table, target, divisions in tables:
        number = name == "diabetes"
        lead = []
        for seed in range(divisions):
            train, test = train_test_split(table, test_size=0.25, random_state=seed,
                                           stratify=None if number else table[target])
            train = train.sort_index() if name != "large" else train.sort_values(target, kind="stable")
            mine = ours(dtrain, "%s/%s-%d" % (folder, name, seed), train, test, target, number)
            lead.append(mine - peers(train, test, target, number))
        if "-v" in sys.argv:
            print(name, np.round(lead, 4), file=sys.stderr)
        print("%s: %s" % (name, "ok" if np.mean(lead) >= -0.02 else "behind by %.4f" % -np.mean(lead)), flush=True)


main(sys.argv[1], os.path.abspath(sys.argv[2]))
