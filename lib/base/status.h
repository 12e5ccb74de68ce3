/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Errors. A function that can fail returns `dt_status *`: NULL for success, else an object with a
 * number (DTnnn), a text, the source location of the fault, and notes added on the way up.
 *
 *     DT_TRY(dt_graph_verify(g));                                        pass it up
 *     return dt_fail(DT_E_RANGE, &at, "units must be at least 1, got %d", n);
 *     return dt_note(s, "in layer '%s'", name);                          what we were doing
 *
 * prints
 *
 *     job.yaml:14:12: error: units must be at least 1, got 0 [DT017]
 *        14 |   - Dense: {units: 0}
 *           |                   ^
 *         in layer 'logits'
 *
 * Texts are lower case, have no full stop, name the fault first and quote the subject. The number
 * selects a row of base/errors.h, which gives the exit code and the kind of error (tf.distribute's
 * words), and the long text that `dtrain explain` prints. A status may carry further ones (`next`):
 * a parser that continues after a fault returns all faults of a file at once.
 */
#ifndef DT_BASE_STATUS_H
#define DT_BASE_STATUS_H

#include <stdarg.h>
#include <stddef.h>

#include "base/handle.h"
#include "dtrain.h"

#define DT_MUST_USE __attribute__((warn_unused_result))
#define DT_PRINTF(at, first) __attribute__((format(printf, at, first)))

/* A text that source locations refer to: the file's name as the user wrote it, and its bytes. The
 * source must outlive the locations. */
typedef struct dt_source {
    const char *name; /* what messages call the text, such as "job.yaml", "override 1", "<stdin>" */
    const char *text;
    size_t size;
} dt_source;

/* A source location. Lines and columns count from 1, columns in characters. line 0: the line is
 * unknown. */
typedef struct dt_location {
    const dt_source *source; /* the text; NULL: the file is not known either */
    int line, col;
    int width; /* number of characters to underline; 0: one caret */
    /* The location's offset in its text in bytes, which saves searching for it; 0: unknown. */
    size_t offset;
} dt_location;

/* One row of base/errors.h. */
typedef struct dt_error_row {
    int number;       /* the number of the error: 17 for DT017 */
    int exit_code;    /* the exit code (docs/exit-codes.md), which dt_status_code returns */
    const char *kind; /* the kind of error, such as "ValueError" or "RuntimeError" */
} dt_error_row;

typedef enum dt_error {
#define DT_ERROR(id, number, exit_code, kind) DT_E_##id = number,
#include "base/errors.h"
#undef DT_ERROR
} dt_error;

/* Returns the row of an error number, or NULL. */
const dt_error_row *dt_error_find(int number);

/* Creates a status. `at` may be NULL; its line of text is copied, so the source need not outlive
 * the status. Never returns NULL. Texts are cut at 4 KiB, and their invisible characters are
 * escaped (dt_str_escaped), so that input cannot control the terminal. */
dt_status *dt_fail(dt_error id, const dt_location *at, const char *format, ...) DT_MUST_USE
    DT_PRINTF(3, 4);
/* Creates the status of a failed system call: "PATH: text of errno". errno selects the error
 * (ENOENT: NO_INPUT, EACCES: PERMISSION, ENOSPC and EIO: IO, ENOMEM and EMFILE: NO_MEMORY, ...);
 * `otherwise` is the error for all numbers without one, and for ENOENT if it is CANT_CREATE. With
 * ENOENT, a path that dt_path_check refuses gives that error instead. */
dt_status *dt_fail_errno(dt_error otherwise, const char *path) DT_MUST_USE;

/* Checks that a public call was not given NULL. Otherwise fails with MISUSE: "dt_strategy_run got
 * no function". */
dt_status *dt_want(const void *given, const char *call, const char *what) DT_MUST_USE;
/* Checks, like dt_want, a list of n texts, none of which may be NULL; n must not be negative. An
 * empty list may be NULL. */
dt_status *dt_want_texts(const char *const *given, int n, const char *call,
                         const char *what) DT_MUST_USE;
/* Checks that a handle in a list or in a struct of options has not been released. Otherwise fails
 * with MISUSE: "dt_plan_text got a job that has been released". NULL is not an error. */
dt_status *dt_want_live(const void *handle, const char *call, const char *what) DT_MUST_USE;

/* Adds a line of context below the first error of s; returns s, which may be NULL. */
dt_status *dt_note(dt_status *s, const char *format, ...) DT_MUST_USE DT_PRINTF(2, 3);
/* Sets the text that follows the carets, or else the message, of the first error of s ("did you
 * mean 'layers'?"); returns s, which may be NULL. */
dt_status *dt_suggest(dt_status *s, const char *format, ...) DT_MUST_USE DT_PRINTF(2, 3);
/* Suggests "did you mean 'NEAREST'?" or, if `nearest` is NULL, lists the n names: "LABEL a, b, c",
 * or "LABEL none". */
dt_status *dt_suggest_names(dt_status *s, const char *nearest, const char *const *names, int n,
                            const char *label) DT_MUST_USE;
/* Suggests the one of n names that is nearest to `name`, if one is near: see dt_nearest. */
dt_status *dt_suggest_nearest(dt_status *s, const char *name, const char *const *names,
                              int n) DT_MUST_USE;
/* Sets the source location of each status in the list s that has no location; returns s. */
dt_status *dt_at(dt_status *s, const dt_location *at) DT_MUST_USE;
/* Removes from the statuses in s all locations whose source has that name, such as a text that the
 * user has not written; returns s. */
dt_status *dt_without_place(dt_status *s, const char *source) DT_MUST_USE;

/* Appends the statuses of the list `more` (may be NULL) to the list *list. A status without notes
 * that repeats one in the list is freed. Once the list has DT_MAX_ERRORS, further ones are counted
 * as dropped, and freed. */
#define DT_MAX_ERRORS 20
void dt_status_append(dt_status **list, dt_status *more);
/* Returns the number of errors that were appended and dropped. */
int dt_status_dropped(const dt_status *s);

/* Stores an error until the next public call of this thread that can fail returns it. Only the
 * first of several is stored; others are freed. Accepts NULL. */
void dt_status_keep(dt_status *s);
/* Returns the stored error, which the caller then owns, or NO_MEMORY (base/reserve.h), or NULL.
 * Public calls that can fail begin with DT_REQUIRE or, if no argument is required, with
 * DT_TRY(dt_status_kept()). */
dt_status *dt_status_kept(void) DT_MUST_USE;

/* An argument of a public call that must not be NULL, and its name in the message. */
typedef struct dt_argument {
    const void *given;
    const char *what;
} dt_argument;
/* The beginning of a public call: returns the stored error, or MISUSE for the first argument that
 * is NULL: DT_REQUIRE({DT_LIVE(model), "model"}, {path, "path"}). */
#define DT_REQUIRE(...)                                                                            \
    DT_TRY(dt_require(__func__, (const dt_argument[]){__VA_ARGS__, {NULL, NULL}}))
dt_status *dt_require(const char *call, const dt_argument *arguments) DT_MUST_USE;

#endif
