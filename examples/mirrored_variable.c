/* SPDX-License-Identifier: Apache-2.0 */
/* mirrored_variable.c: variables made in a strategy's scope have a copy on each replica. */
#include <dtrain.h>
#include <stdio.h>
#include <stdlib.h>

static void show(dt_variable *variable) {
    char *text = dt_variable_text(variable);
    puts(text);
    free(text);
}

static dt_status *create(void) {
    DT_AUTO(variable, mirrored);
    DT_LET(strategy, strategy,
           dt_mirrored_strategy(&strategy, (const char *[]){"CPU:0", "CPU:1"}, 2));
    DT_LET(tensor, one, dt_tensor_create(&one, DT_FLOAT32, 0, NULL, (const float[]){1}));
    DT_SCOPE(strategy)
    DT_TRY(dt_variable_create(&mirrored, one, NULL));
    /* outside: not distributed */
    DT_LET(variable, regular, dt_variable_create(&regular, one, NULL));
    show(mirrored);
    show(regular);
    return NULL;
}

int main(void) { return dt_report(create()); }
