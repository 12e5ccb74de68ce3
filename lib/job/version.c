/* The version, which the Makefile knows. */
#include "dtrain.h"

DT_API const char *dt_version(void)
{
    return DT_VERSION;
}
