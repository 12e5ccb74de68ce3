#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# scripts/install-missing where nothing can be installed: silent where all is there; names what is not, and OpenBLAS where cblas.h is of another library.
. tests/cli/setup.sh
bin=$TEST_DIR/bin
mkdir "$bin"
for name in sh dirname cat sed tr grep make; do ln -s "$(command -v "$name")" "$bin/$name"; done

# with SED: a compiler that reads its input so edited.
with() {
    printf '#!/bin/sh\nPATH=%s\nsed "%s" | %s "$@"\n' "$PATH" "$1" "${CC:-cc}" >"$bin/cc"
    chmod +x "$bin/cc"
    PATH=$bin sh scripts/install-missing 2>&1 && status=0 || status=$?
    echo "exit $status"
}

with ''
with 's/yaml.h/no-such.h/; s/zlib.h/none.h/'
with '/cblas.h/d'

# make asks before it compiles: one line, whatever is missing
printf '#!/bin/sh\nPATH=%s\ncase "$*" in *-E*) sed "s/yaml.h/no-such.h/; s/zlib.h/none.h/" | exec cc "$@" ;; *) exec cc "$@" ;; esac\n' "$PATH" >"$TEST_DIR/lacking"
chmod +x "$TEST_DIR/lacking"
for words in '' '-j4' 'ROOMS=base'; do
    # shellcheck disable=SC2086
    MAKEFLAGS='' make -s $words CC="$TEST_DIR/lacking" BUILD="$TEST_DIR/build" >"$TEST_DIR/out" 2>&1 && echo "make goes through"
    grep -v '^make' "$TEST_DIR/out"
    find "$TEST_DIR/build" -name '*.o'
done
