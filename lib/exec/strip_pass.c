/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Divides a strip program into passes over memory. Consecutive instructions that all have vector
 * instructions become one loop, if there are enough registers for the addresses of its arrays.
 * Instructions between such runs are executed op by op.
 */
#include "exec/strip_rows.h"

int dt_strip_stream(const dt_strip_program *p, int in) {
    if (in >= 0) return p->result[in].reg < 0 ? p->result[in].store : -1;
    return p->operand[-1 - in].layout == DT_STRIP_WHOLE ? p->operand[-1 - in].node : -1;
}

static bool add_stream(dt_strip_pass *pass, int node) {
    for (int k = 0; k < pass->n_streams; k++)
        if (pass->stream[k] == node) return true;
    if (node >= 0 && pass->n_streams < DT_PASS_STREAMS) pass->stream[pass->n_streams++] = node;
    else if (node >= 0) return false;
    return true;
}

/* Extends the pass by instruction i. Returns false, and changes nothing, if the loop would then
 * read and write too many arrays. */
static bool extend(const dt_strip_program *p, dt_strip_pass *pass, int i) {
    dt_strip_pass wider = *pass;
    bool fits = true;
    for (int k = 0; k < p->code[i].n_in; k++)
        fits &= add_stream(&wider, dt_strip_stream(p, p->code[i].in[k]));
    fits &= add_stream(&wider, p->result[i].store);
    wider.to = i + 1;
    if (fits) *pass = wider;
    return fits;
}

static void find_passes(dt_strip_program *p) {
    for (int i = 0; i < p->n_code; i++) {
        bool loop = dt_strip_rows[p->code[i].op][0].what != DT_VEX_NONE;
        dt_strip_pass *last = p->n_passes > 0 ? &p->pass[p->n_passes - 1] : NULL;
        if (last && last->loop == loop && extend(p, last, i)) continue;
        p->pass[p->n_passes] = (dt_strip_pass){.from = i, .to = i, .loop = loop};
        extend(p, &p->pass[p->n_passes++], i);
    }
    dt_strip_pass wider = p->n_passes > 0 ? p->pass[p->n_passes - 1] : (dt_strip_pass){0};
    wider.sums = wider.loop;
    for (int i = 0; i < p->n_sums; i++)
        wider.sums &= add_stream(&wider, dt_strip_stream(p, p->sum[i].in));
    if (wider.sums) p->pass[p->n_passes - 1] = wider;
}

static void lay_out(dt_strip_program *p, int in) {
    if (in < 0) p->operand[-1 - in].laid_out = true;
}

/* Marks the operands that loops in C read. If they have a register, they are loaded into it. */
static void find_laid_out(dt_strip_program *p) {
    bool sums = false;
    for (int i = 0; i < p->n_passes; i++) {
        sums |= p->pass[i].sums;
        for (int k = p->pass[i].from; k < p->pass[i].to && !p->pass[i].loop; k++)
            for (int n = 0; n < p->code[k].n_in; n++) lay_out(p, p->code[k].in[n]);
    }
    for (int i = 0; i < p->n_sums && !sums; i++) lay_out(p, p->sum[i].in);
}

void dt_find_passes(dt_strip_program *p) {
    find_passes(p);
    find_laid_out(p);
}

void dt_fused_print(const dt_step *step, dt_str *out) {
    static const char *const names[DT_S_LOOPS] = {
#define DT_LOOP(name, y) [DT_S_##name] = #name,
#define DT_VARIANT DT_LOOP
#include "op/ops.h"
    };
    const dt_strip_program *p = step->state;

    dt_str_puts(out, p->n_passes > 0 ? ":" : ": sums");
    for (int i = 0; i < p->n_passes; i++) {
        const dt_strip_pass *pass = &p->pass[i];
        if (pass->loop)
            dt_str_printf(out, "%s loop of %d", i > 0 ? "," : "", pass->to - pass->from);
        for (int k = pass->from; k < pass->to && !pass->loop; k++)
            dt_str_printf(out, "%s %s", k > 0 ? "," : "", names[p->code[k].op]);
    }
}
