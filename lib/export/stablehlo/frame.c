/* SPDX-License-Identifier: Apache-2.0 */
/* The parts of a loop that all loops have. Its first operand is a counter that begins with 0. */
#include <string.h>

#include "export/stablehlo/blocks.h"

static void put_values(dt_hlo *h, const dt_hlo_value *v, int n) {
    for (int i = 0; i < n; i++) {
        dt_str_puts(h->out, i ? ", " : "");
        dt_hlo_print_value(v[i], h->out);
    }
}

static void put_types(dt_hlo *h, const dt_hlo_value *v, int n) {
    for (int i = 0; i < n; i++) {
        dt_str_puts(h->out, i ? ", " : "");
        dt_hlo_print_type(&v[i].type, h->out);
    }
}

/* Writes the head of a body: ^bb0(%7: T, %8: T): */
static void open_block(dt_hlo_frame *f) {
    dt_str_puts(f->hlo->out, "    ^bb0(");
    for (int i = 0; i < f->n; i++) {
        f->now[i] = (dt_hlo_value){.id = f->hlo->values++, .type = f->init[i].type};
        dt_str_printf(f->hlo->out, "%s%%%d: ", i ? ", " : "", f->now[i].id);
        dt_hlo_print_type(&f->now[i].type, f->hlo->out);
    }
    dt_str_puts(f->hlo->out, "):\n");
}

void dt_hlo_frame_open(dt_hlo_frame *f) {
    dt_hlo *h = f->hlo;
    f->id = h->values++;
    dt_str_printf(h->out, "    %%%d:%d = \"stablehlo.while\"(", f->id, f->n);
    put_values(h, f->init, f->n);
    dt_str_puts(h->out, ") ({\n");
    open_block(f);
    dt_hlo_value more = dt_hlo_compare(h, DT_LT, f->now[0], dt_hlo_like(h, f->now[0], f->times));
    dt_str_printf(h->out, "    \"stablehlo.return\"(%%%d) : (tensor<i1>) -> ()\n    }, {\n",
                  more.id);
    open_block(f);
    memcpy(f->next, f->now, (size_t)f->n * sizeof *f->next);
}

void dt_hlo_frame_close(dt_hlo_frame *f) {
    dt_hlo *h = f->hlo;
    f->next[0] = dt_hlo_binary(h, "add", f->now[0], dt_hlo_like(h, f->now[0], 1));
    dt_str_puts(h->out, "    \"stablehlo.return\"(");
    put_values(h, f->next, f->n);
    dt_str_puts(h->out, ") : (");
    put_types(h, f->init, f->n);
    dt_str_puts(h->out, ") -> ()\n    }) : (");
    put_types(h, f->init, f->n);
    dt_str_puts(h->out, ") -> (");
    put_types(h, f->init, f->n);
    dt_str_puts(h->out, ")\n");
}

dt_hlo_value dt_hlo_frame_result(const dt_hlo_frame *f, int i) {
    return (dt_hlo_value){.id = f->id, .part = 1 + i, .type = f->init[i].type};
}
