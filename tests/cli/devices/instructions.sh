#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Loops for each instruction set: `devices` names the one in use, DTRAIN_INSTRUCTIONS asks for another, training gives the same numbers but for
# the libraries' products where there is no FMA, and the run says what it was computed with. Sets that this processor lacks are named on standard error.
. tests/cli/setup.sh
write_tiny
for set in base avx2 avx512; do
    export DTRAIN_INSTRUCTIONS=$set
    if ! "$DTRAIN" devices >"$TEST_DIR/devices" 2>"$TEST_DIR/why"; then
        has "$TEST_DIR/why" "instruction set '$set' is unknown or not supported on this processor"
        echo "skipped: $set" >&2
        continue
    fi
    has "$TEST_DIR/devices" "loops       $set, of "
    # On x86-64 the base set has no FMA.
    case $set,$(uname -m) in base,x86_64) own='own loops, slow without FMA' kernels=', base"' ;; *) own='own loops, the default' kernels='"kernels": "own"' ;; esac
    has "$TEST_DIR/devices" "$own"
    "$DTRAIN" fit "$tiny" output.dir="$TEST_DIR/$set" --threads 1 --quiet || echo "$set: exit $?"
    has "$TEST_DIR/$set/ckpt/step-00000012/state.json" "$kernels"
    "$DTRAIN" fit "$tiny" output.dir="$TEST_DIR/library" --threads 1 --quiet --fresh --kernels openblas || echo "$set, openblas: exit $?"
    has "$TEST_DIR/library/ckpt/step-00000012/state.json" ", $set\""
    sed -n 's/.*"loss": *\([0-9.e-]*\).*/\1/p' "$TEST_DIR/$set/history.jsonl" >"$TEST_DIR/$set.loss"
    paste "$TEST_DIR/base.loss" "$TEST_DIR/$set.loss" | awk -v set="$set" '
        { d = $1 - $2; if (d < 0) d = -d; if (!(d < 1e-4) || NF != 2) print set ": epoch " NR " has the loss " $2 ", with base " $1 }
        END { if (NR == 0) print set ": no epochs" }'
done
export DTRAIN_INSTRUCTIONS=mmx
exits 69 devices
exits 69 fit "$tiny" output.dir="$TEST_DIR/mmx"
unset DTRAIN_INSTRUCTIONS

# What all processors of a kind have is all that is used outside of the loops, of the function of crc32c.c, and of the products of dot_bf16.c, that are chosen: a
# program made here runs elsewhere.
grep -n -e '-march' -e '-mcpu' -e '-mtune' "$BUILD/flags"
case $(cc -dumpmachine) in x86_64*) ;; *) exit ;; esac
command -v objdump >/dev/null || { echo "skipped: no objdump" >&2 && exit; }
{ objdump -d --no-show-raw-insn "$BUILD/libdtrain.a" && find "$BUILD/cmd" -name '*.o' -print0 | xargs -0 objdump -d --no-show-raw-insn; } |
    awk '/file format/ { file = $1; chosen = file ~ /\.avx(2|512)\.o/; sets += chosen }
         />:$/ { asked = file ~ /^crc32c\.o/ && $2 == "<by_wide_products>:" || file ~ /^dot_bf16\.o/ && $2 !~ /<dt_dot_bf16_(is_here|room_[ab])>/ }
         !chosen && !asked && /%[yz]mm|%k[1-7]/ { print file " " $0; if (++n == 5) exit }
         END { if (!sets) print "no loops for other instruction sets" }'
