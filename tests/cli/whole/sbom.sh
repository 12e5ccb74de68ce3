#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# packaging/sbom: CycloneDX that its own library takes, the same bytes twice, package names and versions as URLs want them, licences as SPDX expressions.
. tests/cli/setup.sh
command -v dpkg-query >"$TEST_DIR/which" || { echo "no dpkg-query here" && exit 77; }
python=$(scripts/python-tools cyclonedx 2>"$TEST_DIR/why") || { cat "$TEST_DIR/why" && exit 77; }
packaging/sbom 0.2.0 libstdc++6 libyaml-dev libc6 >"$TEST_DIR/some.json"
packaging/sbom 0.2.0 libyaml-dev libc6 libstdc++6 | cmp "$TEST_DIR/some.json" -
packaging/sbom 0.2.0 >"$TEST_DIR/all.json"
packaging/sbom 0.2.0 no-such-package >"$TEST_DIR/none.json" 2>"$TEST_DIR/err" && echo "a package that is not here is taken"
has "$TEST_DIR/err" no-such-package
"$python" - "$TEST_DIR/some.json" "$TEST_DIR/all.json" <<'END'
import json, sys
from cyclonedx.schema import SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator
for path in sys.argv[1:]:
    text = open(path).read()
    wrong = JsonStrictValidator(SchemaVersion.V1_6).validate_str(text)
    if wrong:
        print(path, wrong)
    bom = json.loads(text)
    refs = [c["bom-ref"] for c in bom["components"]]
    assert len(set(refs)) == len(refs) and sorted(bom["dependencies"][0]["dependsOn"]) == sorted(refs)
some = {c["name"]: c for c in json.load(open(sys.argv[1]))["components"]}
assert sorted(some) == ["libc6", "libstdc++6", "libyaml-dev"]
assert some["libyaml-dev"]["licenses"] == [{"expression": "MIT"}]
assert "+" not in some["libstdc++6"]["purl"] and some["libstdc++6"]["purl"].startswith("pkg:deb/")
assert len(refs) > 50
END
