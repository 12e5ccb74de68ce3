#!/bin/sh
# Who reads what: by file, by element because there are too few files, by nothing, and where a policy cannot be followed.
. tests/cli/setup.sh
i=0
echo x >"$TEST_DIR/all.csv"
while [ $i -lt 11 ]; do echo $i; i=$((i + 1)); done >>"$TEST_DIR/all.csv"
show data convert "$TEST_DIR/all.csv" -o "$TEST_DIR/part.csv" --shards 3
cat "$TEST_DIR"/part-00001-of-00003.csv
show data shards "$TEST_DIR"/part-*.csv --workers 2
show data shards "$TEST_DIR"/part-*.csv --workers 4
show data shards "$TEST_DIR"/part-*.csv --workers 4 --policy file
show data shards "$TEST_DIR"/part-*.csv --workers 2 --policy off --json
show data shards "$TEST_DIR"/part-*.csv --workers 2 --policy hint
show data shards tests/golden/data/stored.npz --workers 2 --policy file
write_tiny
show data shards "$tiny" --workers 3
show data shards "$tiny" --workers 0
