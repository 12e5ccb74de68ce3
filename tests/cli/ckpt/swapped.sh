#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# check-fast: format
# A checkpoint that is replaced by another one at a given moment, each one between the first file that is opened and the last byte that is read: ckpt inspect,
# init_from and predict give what one of the two contains, or an error, never a mixture.
. tests/cli/setup.sh
cat >"$TEST_DIR/swap.c" <<'END'
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
/* Before the SWAP_AT-th call that opens or reads a file below SWAP, that folder is renamed to `away`, and `other` to it. */
static void count(const char *path)
{
    static int calls;
    const char *folder = getenv("SWAP"), *at = getenv("SWAP_AT");
    if (!folder || !at || !strstr(path, strrchr(folder, '/')) || __sync_add_and_fetch(&calls, 1) != atoi(at)) return;
    if (rename(folder, "away") != 0 || rename("other", folder) != 0) abort();
}
static void count_fd(int fd)
{
    char link[64], path[4096];
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t n = readlink(link, path, sizeof path - 1);
    if (n > 0) { path[n] = '\0'; count(path); }
}
#define OPEN(name)                                                                           \
    int name(const char *path, int flags, ...)                                               \
    {                                                                                        \
        va_list a; va_start(a, flags); int mode = va_arg(a, int); va_end(a);                 \
        count(path);                                                                         \
        return ((int (*)(const char *, int, ...))dlsym(RTLD_NEXT, #name))(path, flags, mode);\
    }
#define PREAD(name)                                                                          \
    ssize_t name(int fd, void *to, size_t n, off_t at)                                       \
    {                                                                                        \
        count_fd(fd);                                                                        \
        return ((ssize_t (*)(int, void *, size_t, off_t))dlsym(RTLD_NEXT, #name))(fd, to, n, at); \
    }
OPEN(open) OPEN(open64) PREAD(pread) PREAD(pread64)
END
swap=$(preload swap -ldl) || exit
tiny "$TEST_DIR/run" >"$tiny"
cd "$TEST_DIR" || exit
for seed in 1 2; do "$DTRAIN" fit "$tiny" -q "seed=$seed" output.dir=$seed checkpoint.max_to_keep=1 || echo "exit $?"; done
step=$(basename 1/ckpt/step-*)
lay() { rm -rf run away other && cp -r 1 run && cp -r "2/ckpt/$step" other; }
# The same command on either, and on the first one while it is replaced.
inspect() { "$DTRAIN" ckpt inspect "run/ckpt/$step" --json; }
begin() { "$DTRAIN" fit "$tiny" --fresh -q --json --threads 1 fit.epochs=1 "model.init_from=run/ckpt/$step" output.dir=begun | sed -n 's/.*"weights_sha256":"\([^"]*\)".*/\1/p' | tail -n 1; }
predict() { "$DTRAIN" predict "$tiny" --split validation --threads 1; }
for what in inspect begin predict; do
    lay
    $what >first 2>err || cat err
    mv "run/ckpt/$step" away && mv other "run/ckpt/$step"
    $what >second 2>err || cat err
    cmp -s first second && echo "$what: the two do not differ"
    at=1 firsts=0 seconds=0
    while [ $at -lt 400 ]; do
        lay
        SWAP="run/ckpt/$step" SWAP_AT=$at LD_PRELOAD=$swap $what >out 2>err
        [ -e other ] && break # that many calls are not made
        if cmp -s out first; then firsts=$((firsts + 1))
        elif cmp -s out second; then seconds=$((seconds + 1))
        elif [ ! -s err ] || [ -s out ]; then echo "$what, replaced before call $at: neither the one nor the other" && cat out err
        fi
        at=$((at + 1))
    done
    [ $firsts -gt 2 ] && [ $seconds -gt 0 ] && [ $at -lt 400 ] || echo "$what: $firsts and $seconds of $at"
done
