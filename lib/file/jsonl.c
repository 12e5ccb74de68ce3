/* SPDX-License-Identifier: Apache-2.0 */
/* JSON lines, an object a row: what `predict` writes (format/rows_json.c). */
#include "file/file.h"

const dt_container dt_container_jsonl = {.name = "jsonl", .suffix = {".jsonl"}};
