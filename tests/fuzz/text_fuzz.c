/* Text files and their tokens, as elements of a job's data set. */
#include "fuzz.h"

FUZZ_TARGET(text)
{
    fuzz_dataset("{format: text, train: %s, element: {tokens: {shape: [5], dtype: int32}}, global_batch_size: 4}", fuzz_file(data, size));
    return 0;
}
