#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Evaluate a classifier, find out which classes it confuses, and let CI refuse it when it gets worse.
. tests/cli/setup.sh
. tests/cli/pages.sh
command -v python3 >/dev/null || { echo "no python3 here" && exit 77; }
page your-own-data
step awk
given flowers.yaml
step 'dtrain fit flowers.yaml fit.epochs=10'
step 'dtrain evaluate flowers.yaml --expect'
grep -c '^\(classes\|confusion matrix\|worst examples\)$' said
for option in '--metrics FILE.json' '--summary FILE.md' '--junit FILE.xml'; do mentions "$option"; done
for least in 0.9 0.999; do
    dtrain evaluate flowers.yaml -q --expect "accuracy>=$least" --metrics m.json --summary s.md --junit j.xml 2>err
    echo "exit $?"
    python3 - <<'END'
import json
import xml.etree.ElementTree as xml

suite = next(xml.parse("j.xml").getroot().iter("testsuite"))
print(sorted(json.load(open("m.json"))), len(suite.findall("testcase")), suite.get("failures"))
END
    has s.md accuracy
done
