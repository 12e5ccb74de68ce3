#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# `make install` into a folder, then README's line: a C program of a user's, compiled with what pkg-config says, against the shared and
# the static library, trains; the program that was installed does, too. Nothing of the build folder is needed. `make uninstall` leaves nothing. All may read
# what is there, whatever the umask, and a folder's name may have blanks.
# check-fast: dtrain
. tests/cli/setup.sh
. tests/cli/jobs.sh
command -v pkg-config >/dev/null || { echo "no pkg-config here" && exit 77; }
sanitized && echo "a sanitizer's library does not go with other people's programs" && exit 77
root=$TEST_DIR/root
env -u MAKEFLAGS make -s BUILD="$BUILD" DESTDIR="$root" PREFIX=/opt/dtrain install >"$TEST_DIR/make" 2>&1 || { cat "$TEST_DIR/make" && exit 1; }
(cd "$root" && find . -type f -o -type l | sort | grep -v 'dtrain-fabric\|/man1/dtrain-\|/man3/dt_')
"$DTRAIN" man --list | while read -r page; do
    [ -s "$root/opt/dtrain/share/man/man${page##*.}/$page" ] || echo "no page $page"
done

cat >"$TEST_DIR/program.c" <<'END'
#include <dtrain.h>

static dt_status *train(dt_dataset *data, dt_model *model, dt_strategy *strategy)
{
    dt_history *history = NULL;
    dt_status *s;

    DT_GO(s, dt_mirrored_strategy(&strategy, NULL, 0));
    DT_SCOPE (strategy) {
        DT_GO(s, dt_model_create(&model, "[Input: {name: image, shape: [4]}, Dense: {units: 2}]"));
        DT_GO(s, dt_model_compile(model, "{optimizer: SGD, loss: {SparseCategoricalCrossentropy: {from_logits: true}}}"));
    }
    DT_GO(s, dt_dataset_open(&data, "{format: synthetic, examples: 32, global_batch_size: 8, "
                                    "element: {image: {shape: [4], dtype: float32}, label: {num_classes: 2}}}"));
    DT_GO(s, dt_model_fit(model, data, &history, "{epochs: 3}"));
    printf("%d epochs with dtrain %s\n", dt_history_epochs(history), dt_version());
out:
    dt_history_unref(history);
    dt_model_unref(model);
    dt_dataset_unref(data);
    dt_strategy_unref(strategy);
    return s;
}

int main(void)
{
    return dt_report(train(NULL, NULL, NULL));
}
END
export PKG_CONFIG_PATH="$root/opt/dtrain/lib/pkgconfig" PKG_CONFIG_SYSROOT_DIR="$root"
pkg-config --modversion dtrain
cd "$TEST_DIR" || exit 1
# shellcheck disable=SC2046 # flags are words
cc -Wall -Wextra -Werror -o shared program.c $(pkg-config --cflags --libs dtrain)
# shellcheck disable=SC2046
cc -Wall -Wextra -Werror -o static program.c $(pkg-config --cflags --static --libs dtrain | sed 's/-ldtrain/-l:libdtrain.a/')
if command -v c++ >/dev/null; then c++ -Wall -Wextra -Werror -fsyntax-only -I"$root/opt/dtrain/include" -x c++ program.c; fi
LD_LIBRARY_PATH=$root/opt/dtrain/lib ./shared
./static
"$root/opt/dtrain/bin/dtrain" version | sed 's/ .*//' | head -n 1
nm -D --defined-only --without-symbol-versions "$root/opt/dtrain/lib/libdtrain.so" | awk '$2 != "A" && $3 !~ /^dt_/ { print "exported, but not ours: " $3 }'
cd "$OLDPWD" || exit 1
env -u MAKEFLAGS make -s BUILD="$BUILD" DESTDIR="$root" PREFIX=/opt/dtrain uninstall
(cd "$root" && find . -type f -o -type l && find . -name dtrain -type d -path '*include*')

# into WORDS...: make with the folder "a root".
into() {
    env -u MAKEFLAGS make -s BUILD="$BUILD" DESTDIR="$TEST_DIR/a root" "$@" 2>&1
}
(umask 077 && into PREFIX=/usr install)
(cd "$TEST_DIR/a root/usr" && find . ! -type l \( ! -perm -a+r -o -type d ! -perm -a+x \) && grep ^prefix lib/pkgconfig/dtrain.pc)
into PREFIX=/usr uninstall
(cd "$TEST_DIR/a root" && find . ! -type d)
into PREFIX='/my files' install | sed 's/.*\*\*\* //'
