/* SPDX-License-Identifier: Apache-2.0 */
/* Options that are passed to a plug-in when a client is created and when a program is compiled. */
#ifndef DT_PJRT_OPTIONS_H
#define DT_PJRT_OPTIONS_H

#include "pjrt/client.h"
#include "pjrt/pjrt_impl.h"

/* The options that a client is created with. */
typedef struct dt_pjrt_options {
    int n;
    dt_pjrt_named_value *at;
    /* how->ordinal in ascending order, if the client is confined to these devices; else NULL */
    int64_t *visible;
} dt_pjrt_options;
/* Collects the options of a client. Release them with dt_pjrt_options_release, also after an error.
 * Fails with BACKEND if an environment variable has a value that its option does not allow, or two
 * variables set the same option. The options point to texts and lists of how->settings, which must
 * outlive them. */
dt_status *dt_pjrt_options_of(const dt_pjrt *p, const dt_pjrt_opening *how,
                              dt_pjrt_options *out) DT_MUST_USE;
void dt_pjrt_options_release(dt_pjrt_options *o);

/* Writes one of XLA's options for a single program, after those of dt_pjrt_write_options. */
void dt_pjrt_write_override(const char *name, bool value, dt_str *out);
void dt_pjrt_write_override_text(const char *name, const char *value, dt_str *out);

#endif
