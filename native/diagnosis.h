/* The argument of diagnostic callbacks. Python fills it; the library's getters read it without Python. */
#ifndef NNAPI_DIAGNOSIS_H
#define NNAPI_DIAGNOSIS_H

#include <stdbool.h>
#include <stdint.h>

/* Describes a compilation or a computation; members that do not apply are 0. */
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
