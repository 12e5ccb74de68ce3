/*
 * distribute_dataset: each global batch cut for the replicas. The rows of a batch stay together in memory; a replica's part is a view.
 * Every iterator is one epoch, the next in the data set's order.
 */
#include <stdlib.h>
#include <string.h>

#include "strategy/values.h"

struct dt_dist_dataset {
    int refs;
    dt_strategy *strategy;
    dt_dataset *data;
    int64_t batch; /* global; the data set's own may be set anew for another strategy */
    int64_t epoch; /* of the next iterator */
};

struct dt_iterator {
    int refs;
    dt_dist_dataset *of;
    dt_feed *feed;
    int32_t *offsets; /* [replicas + 1] */
};

dt_status *dt_strategy_distribute_dataset(dt_strategy *s, dt_dataset *data, const dt_input_options *options, dt_dist_dataset **out)
{
    const dt_dataset_spec *spec = dt_dataset_spec_of(data);

    (void)options; /* none yet: the type is opaque, NULL the only value */
    DT_TRY(dt_status_kept());
    if (spec->per_replica_batch_size > 0)
        dt_dataset_set_global_batch(data, spec->per_replica_batch_size * s->replicas);
    dt_dist_dataset *d = dt_alloc(sizeof *d);
    *d = (dt_dist_dataset){ .refs = 1, .strategy = dt_strategy_ref(s), .data = data, .batch = dt_dataset_batch_size(data) };
    dt_dataset_ref(data);
    dt_dist_dataset_unref(*out);
    *out = d;
    return NULL;
}

void dt_dist_dataset_unref(dt_dist_dataset *d)
{
    if (!d || --d->refs > 0)
        return;
    dt_dataset_unref(d->data);
    dt_strategy_unref(d->strategy);
    free(d);
}

dt_status *dt_iterator_create(dt_iterator **out, dt_dist_dataset *data)
{
    const dt_dataset_spec *spec = dt_dataset_spec_of(data->data);
    dt_feed *feed = NULL;

    DT_TRY(dt_status_kept());
    DT_TRY(dt_feed_open(&feed, data->data, &(dt_feed_options){ .part = DT_PART_TRAIN, .epoch = data->epoch, .shuffle = spec->shuffle,
                                                               .batch = data->batch, .last = spec->last_batch }));
    data->epoch++;
    dt_iterator *it = dt_alloc(sizeof *it);
    data->refs++;
    *it = (dt_iterator){ .refs = 1, .of = data, .feed = feed,
                         .offsets = dt_alloc(((size_t)data->strategy->replicas + 1) * sizeof(int32_t)) };
    dt_iterator_unref(*out);
    *out = it;
    return NULL;
}

void dt_iterator_unref(dt_iterator *it)
{
    if (!it || --it->refs > 0)
        return;
    dt_feed_close(it->feed);
    dt_dist_dataset_unref(it->of);
    free(it->offsets);
    free(it);
}

static dt_status *take_element(const dt_iterator *it, const dt_element *element, const dt_view *v, dt_values *out)
{
    dt_tensor *whole = NULL;

    DT_TRY(dt_tensor_new(&whole, &v->type));
    memcpy(whole->data, v->data, (size_t)dt_type_bytes(&v->type));
    dt_values_set_whole(out, element->name, &(dt_whole){ .tensor = whole, .spread = DT_ROWS, .strategy = it->of->strategy,
                                                         .offsets = it->offsets });
    dt_tensor_unref(whole);
    return NULL;
}

dt_status *dt_iterator_next(dt_iterator *it, dt_values **batch)
{
    const dt_element *elements;
    int n = dt_dataset_elements(it->of->data, &elements);
    dt_values *out = NULL;
    dt_status *s = NULL;
    dt_batch b;

    DT_GO(s, dt_status_kept());
    DT_GO(s, dt_feed_next(it->feed, &b));
    dt_values_unref(*batch);
    *batch = NULL;
    if (b.rows == 0)
        goto out;
    dt_cut_rows(b.rows, it->of->batch, it->of->strategy->replicas, it->offsets);
    DT_GO(s, dt_values_create(&out));
    for (int i = 0; i < n; i++)
        DT_GO(s, take_element(it, &elements[i], &b.element[i], out));
    *batch = out;
    out = NULL;
out:
    dt_values_unref(out);
    return s;
}
