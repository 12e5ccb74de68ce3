/* SPDX-License-Identifier: Apache-2.0 */
/* What a client and a compilation are told besides the program. */
#ifndef DT_PJRT_OPTIONS_H
#define DT_PJRT_OPTIONS_H

#include "pjrt/client.h"
#include "pjrt/pjrt_impl.h"

enum { DT_PJRT_CLIENT_OPTIONS = 2 };
/* Callbacks and numbers of a process among others. */
void dt_pjrt_share(dt_pjrt_client_create *a, const dt_pjrt_store *store, dt_pjrt_named_value option[DT_PJRT_CLIENT_OPTIONS]);
/* One of XLA's options, for this program alone: behind what dt_pjrt_write_options has written. */
void dt_pjrt_write_override(const char *name, bool value, dt_str *out);

#endif
