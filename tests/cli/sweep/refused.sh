#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Values, options and folders that are refused; trials that fail; a full disk; a trial that is stopped by hand.
. tests/cli/setup.sh
write_tiny
sed -i 's/units: 4/units: "{width}"/; s/^model:/let: {width: 4}\nmodel:/' "$tiny"
cd "$TEST_DIR" || exit 1
for words in let.width=4..2 let.width=log:0..2 let.width=4,,5 let.width=4,4 let.width=4.. let.width=4..x 'let.width=4,5 let.width=6,7' output.dir=a,b \
    let.width=2..8 let.width=4 'let.width=[4,5]' 'let.width=2..8 --method grid' 'let.width=4,5 --metric val_auc' 'let.width=4,5 --halving' \
    'let.width=4,5,6 fit.epochs=3,6 --halving' compile.optimiser=1,2 compile.optimizer.SGD.learning_rate=-1,-2; do
    # shellcheck disable=SC2086
    show sweep tiny.yaml $words
done
show sweep - let.width=4,5 <tiny.yaml
show sweep none.yaml let.width=4,5
[ -e run ] && echo 'a refused sweep wrote files'

# Some fail, then all.
rate=compile.optimizer.SGD.learning_rate
show sweep tiny.yaml $rate=1e30,0.1,-1 output.dir=some
show sweep tiny.yaml $rate=1e30,1e31 output.dir=all -q
# Other settings, another job.
show sweep tiny.yaml $rate=1e30,0.2 output.dir=some -q
sed 's/seed: 7/seed: 8/' tiny.yaml >other.yaml
show sweep other.yaml $rate=1e30,0.1,-1 output.dir=some -q

# A limit of the size of files stands for a full disk: the sweep stops, and resumes when there is room.
(ulimit -f 8 && exits 74 sweep tiny.yaml let.width=4,8 fit.epochs=200 output.dir=full -q)
grep -c 'to resume, run: dtrain sweep tiny.yaml let.width=4,8' err
exits 0 sweep tiny.yaml let.width=4,8 fit.epochs=200 output.dir=full -q
