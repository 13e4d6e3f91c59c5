/* What the callbacks of diagnostics are given: filled by Python, read by the getters of the library without it. */
#ifndef NNAPI_DIAGNOSIS_H
#define NNAPI_DIAGNOSIS_H

#include <stdbool.h>
#include <stdint.h>

/* Of a compilation or of a computation; what has no meaning for one of them is 0. */
struct nnapi_diagnosis {
    int64_t version;
    uint64_t times[3];
    const uint8_t *hash;
    const char *devices;
    int32_t session;
    uint32_t error;
    int input_class, output_class, mode;
    bool caching, control_flow, dynamic;
};

#define DIAGNOSED(info, field) ((info) ? ((const struct nnapi_diagnosis *)(info))->field : 0)

#endif
