/* SPDX-License-Identifier: Apache-2.0 */
/* mirrored_variable.c: variables made in a strategy's scope have a copy on each replica. */
#include <dtrain.h>
#include <stdio.h>
#include <stdlib.h>

int main(void)
{
    dt_status *s = NULL;
    dt_strategy *strategy = NULL;
    dt_tensor *one = NULL;
    dt_variable *mirrored = NULL, *regular = NULL;
    char *text = NULL;

    DT_GO(s, dt_mirrored_strategy(&strategy, (const char *[]){ "CPU:0", "CPU:1" }, 2));
    DT_GO(s, dt_tensor_create(&one, DT_FLOAT32, 0, NULL, (const float[]){ 1 }));
    DT_SCOPE(strategy)
        DT_GO(s, dt_variable_create(&mirrored, one, NULL));
    DT_GO(s, dt_variable_create(&regular, one, NULL));  /* outside: not distributed */

    text = dt_variable_text(mirrored);
    puts(text);
    free(text);
    text = dt_variable_text(regular);
    puts(text);
out:
    free(text);
    dt_variable_unref(regular);
    dt_variable_unref(mirrored);
    dt_tensor_unref(one);
    dt_strategy_unref(strategy);
    return dt_report(s);
}
