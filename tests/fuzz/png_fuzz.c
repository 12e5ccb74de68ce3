/* PNG pictures. */
#include "image.h"
#include "repair.h"

FUZZ_TARGET(png)
{
    fuzz_picture(data, size);
    return 0;
}

#ifdef DT_FUZZER
FUZZ_MUTATOR
{
    size = LLVMFuzzerMutate(data, size, most);
    if (seed % 8 != 0 && size > 0)
        repair_png(data + 1, size - 1);
    return size;
}
#endif
