/* SPDX-License-Identifier: Apache-2.0 */
/* Prints an executable as text: segments, groups and their steps, and the memory of values. The
 * text does not depend on the number of lanes. */
#include "exec/exec_impl.h"

/* Prints what a kernel's name does not say: " add (f32[34,4], f32[34,4]) -> f32[34,4]". */
static void print_op(const dt_exec *x, const dt_node *n, int node, dt_str *out) {
    dt_str_printf(out, " %s (", n->op->name);
    for (int k = 0; k < n->n_in; k++) {
        dt_str_puts(out, k ? ", " : "");
        dt_type_print(&x->type[n->in[k]], out);
    }
    dt_str_puts(out, ") -> ");
    dt_type_print(&x->type[node], out);
}

static void print_step(const dt_exec *x, const dt_step *step, dt_str *out) {
    dt_str_printf(out, "      %s", step->kernel->name);
    if (step->kernel == &dt_kernel_copy_back) {
        dt_str_printf(out, " %s\n", x->g->state[step->node].variable->path);
        return;
    }
    if (step->kernel == &dt_kernel_fused) {
        for (int i = 0; i < x->g->n_nodes; i++)
            if (x->fused_in[i] >= 0 && x->fused_in[i] == x->fused_in[step->node])
                dt_str_printf(out, " %%%d", i);
        dt_fused_print(step, out);
    } else {
        dt_str_printf(out, " %%%d", step->node);
    }
    if (step->kernel == &dt_kernel_eval) print_op(x, &x->g->node[step->node], step->node, out);
    dt_str_puts(out, "\n");
}

static void print_memory(const dt_exec *x, dt_str *out) {
    for (int i = 0; i < x->g->n_nodes; i++) {
        const dt_value_slot *s = &x->slot[i];
        const bool of_task = s->home == DT_HOME_TASK;
        if (!of_task && !s->kept && (s->home != DT_HOME_ARENA || s->owner != i)) continue;
        dt_str_printf(out, s->kept ? "  old %%%d " : "  %%%d ", i);
        dt_type_print(&x->type[i], out);
        dt_str_printf(out, "%s at %lld, %lld bytes, %s %d to %d\n", of_task ? " of a task" : "",
                      (long long)s->offset, (long long)s->bytes, of_task ? "steps" : "segments",
                      s->first, s->last);
    }
}

static void print_group(const dt_exec *x, int number, dt_str *out) {
    const dt_group *group = &x->group[number];

    dt_str_printf(out, "    group %d, %d piece%s", number, group->units,
                  group->units == 1 ? "" : "s");
    if (group->own_bytes) dt_str_printf(out, " with %lld bytes each", (long long)group->own_bytes);
    dt_str_puts(out, "\n");
    for (int j = 0; j < group->n_steps; j++) print_step(x, &group->step[j], out);
}

void dt_exec_print(const dt_exec *x, dt_str *out) {
    dt_str_printf(out, "executable for B = %lld: %d segment%s, arena %lld bytes\n",
                  (long long)x->p->batch, x->n_segments, x->n_segments == 1 ? "" : "s",
                  (long long)x->arena_bytes);
    for (int i = 0; i < x->n_segments; i++) {
        dt_str_printf(out, "  segment %d\n", i);
        for (int k = 0; k < x->n_groups; k++)
            if (x->group[k].segment == i) print_group(x, k, out);
    }
    dt_str_puts(out, "  memory\n");
    print_memory(x, out);
}
