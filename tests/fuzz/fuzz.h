/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fuzz targets: one file tests/fuzz/NAME_fuzz.c for each reader of what others have written, and a
 * row in targets.h.
 *
 *     FUZZ_TARGET(npy)
 *     {
 *         fuzz_done(some_reader(fuzz_file(data, size)));
 *         return 0;
 *     }
 *
 * With -DDT_FUZZER (`make fuzz`: clang, libFuzzer, address and undefined-behaviour sanitizers) that
 * is LLVMFuzzerTestOneInput of a program by itself; else it is a function of its own name, and
 * replay_test.c runs all of them over tests/fuzz/corpus with any compiler.
 *
 * What counts as a fault, besides what sanitizers find: an error that says INTERNAL (70), an exit
 * code that is not documented, a message with control characters in it, memory that is not given
 * back, more than a second or 256 MiB for an input.
 */
#ifndef TESTS_FUZZ_H
#define TESTS_FUZZ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

#ifdef DT_FUZZER
#define FUZZ_TARGET(name)                                                                          \
    int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);                                  \
    int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
/* Changes `data` of `size` bytes in place, at most `most` afterwards; what it gives is tried next.
 * In programs of libFuzzer only. */
#define FUZZ_MUTATOR                                                                               \
    size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t most, unsigned int seed);    \
    size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t most, unsigned int seed)
size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t most);
/* What mutates gets its checksums made right again, by `repair`, in seven of eight. */
#define FUZZ_REPAIRED_BY(repair)                                                                   \
    FUZZ_MUTATOR;                                                                                  \
    size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t most, unsigned int seed) {   \
        size = LLVMFuzzerMutate(data, size, most);                                                 \
        if (seed % 8 != 0) repair(data, size);                                                     \
        return size;                                                                               \
    }
#else
#define FUZZ_REPAIRED_BY(repair)
#define FUZZ_TARGET(name)                                                                          \
    int fuzz_##name(const uint8_t *data, size_t size);                                             \
    int fuzz_##name(const uint8_t *data, size_t size)
#endif

/* The path of a file with these bytes; they are there until the next call. In memory, below
 * /proc/self/fd. */
const char *fuzz_file(const void *bytes, size_t n);
/* The same as NAME in an empty folder, for readers that follow no links; the folder's path. Names
 * of earlier calls are removed. */
const char *fuzz_folder(const char *name, const void *bytes, size_t n);
/* One more file there. */
void fuzz_folder_add(const char *name, const void *bytes, size_t n);
/* Another empty folder, with a file, of these bytes, for each line of `names`: "a/b.csv", or "a/"
 * for a folder. Lines that lead out of it, and more than 16, are left out. `names` is changed. */
const char *fuzz_tree(char *names, const void *bytes, size_t n);
/* A terminated copy that is freed by the next call: of inputs that readers want as a string. Cut at
 * the first NUL, like any argument. */
const char *fuzz_string(const uint8_t *data, size_t size);
/* That, to be written to. */
char *fuzz_copy(const uint8_t *data, size_t size);

/* Looks at an error, or NULL, as a user would get it, and frees it. */
void fuzz_done(dt_status *s);
/* Ends the program: libFuzzer keeps the input. */
#define FUZZ_CHECK(condition, what) ((condition) ? (void)0 : fuzz_fail(__FILE__, __LINE__, what))
_Noreturn void fuzz_fail(const char *file, int line, const char *what);

/* Opens a data set by such a mapping, as a job has it, and reads all of it, the most as 64 batches
 * of the training part. */
void fuzz_dataset(const char *format, ...) DT_PRINTF(1, 2);

#endif
