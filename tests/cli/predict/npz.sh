#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# NPZ: an array for each output, by its name, of the numbers that the other forms have (of logits these have the probabilities); from a part and from a pipe. numpy reads them.
. tests/cli/setup.sh
job=tests/jobs/outputs.yaml
"$DTRAIN" fit "$job" output.dir="$TEST_DIR/two" -q || echo "exit $?"
predict() {
    "$DTRAIN" predict "$job" output.dir="$TEST_DIR/two" "$@" || echo "exit $?"
}
predict -o "$TEST_DIR/y.npz" | hide
predict -o "$TEST_DIR/y.jsonl" -q
predict --top 2 -o "$TEST_DIR/top.npz" -q
predict --top 2 -o "$TEST_DIR/top.jsonl" -q
exits 0 data inspect "$TEST_DIR/y.npz"
# rows from a pipe, whose number is unknown
for i in $(seq 300); do echo "$i,1,2,3,0.$i"; done >"$TEST_DIR/x.csv"
predict --input - -o "$TEST_DIR/pipe.npz" -q <"$TEST_DIR/x.csv"
predict --input - --format jsonl <"$TEST_DIR/x.csv" >"$TEST_DIR/pipe.jsonl"
# one output
write_tiny
"$DTRAIN" fit "$tiny" -q || echo "exit $?"
"$DTRAIN" predict "$tiny" -o "$TEST_DIR/one.npz" -q || echo "exit $?"
"$DTRAIN" predict "$tiny" -o "$TEST_DIR/one.jsonl" -q || echo "exit $?"
exits 64 predict "$tiny" --format npz
sed 's/^dtrain: error: //' "$TEST_DIR/err"
# nothing of a file that cannot be written is left, and nothing beside one that is there
mkdir "$TEST_DIR/bad" && mkdir "$TEST_DIR/bad/y.npz.1.tmp"
exits 73 predict "$job" output.dir="$TEST_DIR/two" -o "$TEST_DIR/bad/y.npz"
(cd "$TEST_DIR" && find . -name '*.tmp' -o -path './bad/*' | sort)
python=$(scripts/python-tools numpy) || exit 77
cat >"$TEST_DIR/compare.py" <<'END'
import json, sys
import numpy

def softmax(x):
    e = numpy.exp(x.astype('float64') - x.max(-1, keepdims=True))
    return (e / e.sum(-1, keepdims=True)).astype('float32')

def compare(name, top):
    arrays = numpy.load(name + '.npz')
    rows = [json.loads(line) for line in open(name + '.jsonl')]
    want = {}
    for output in rows[0]:
        if top:
            want[output + '_class'] = numpy.array([[x['class'] for x in row[output]] for row in rows], 'int32')
            want[output + '_score'] = numpy.array([[x['score'] for x in row[output]] for row in rows], 'float32')
        else:
            want[output] = numpy.array([row[output] for row in rows], 'float32')
    assert list(arrays) == list(want), (list(arrays), list(want))
    for key in want:
        assert arrays[key].dtype == want[key].dtype and arrays[key].shape == want[key].shape, (key, arrays[key].dtype, arrays[key].shape)
        logits = not top and key in ('kind', 'logits')  # arrays hold what the model gives, texts probabilities
        same = numpy.allclose(softmax(arrays[key]), want[key], rtol=1e-6) if logits else numpy.array_equal(arrays[key], want[key])
        assert arrays[key].flags.c_contiguous and same, key
    print(', '.join('%s %s %s' % (key, arrays[key].dtype, arrays[key].shape) for key in want))

for name in ['y', 'top', 'pipe', 'one']:
    compare(sys.argv[1] + '/' + name, name == 'top')
END
"$python" "$TEST_DIR/compare.py" "$TEST_DIR"
