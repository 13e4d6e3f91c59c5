/* The functions that libnnapi_delegate.so calls in Python, through libneuralnetworks.so, which hosts Python. This file has
 * only declarations, because cffi reads it too. */
#ifndef NNAPI_SERVING_H
#define NNAPI_SERVING_H

#include <stdint.h>

/* Delegates and partitions of graphs are numbers from 1 on. On failure a function returns 0, and nnapi_last_error returns
 * the reason. */
struct nnapi_serving {
    int64_t (*open)(const char *const *keys, const char *const *values, int count);
    void (*close)(int64_t delegate);
    /* Writes to `claimed` the number of nodes that the delegate claims, and their indices. */
    int (*choose)(int64_t delegate, void *context, int *claimed);
    /* Opens the partition that TfLiteDelegateParams describe, which became one node of the graph. */
    int64_t (*open_part)(int64_t delegate, void *context, const void *params);
    void (*close_part)(int64_t part);
    /* Compiles a partition for the current shapes of its inputs, and resizes its outputs; returns at once if no shape
       changed. */
    int (*prepare)(int64_t part, void *context);
    /* Binds the current memory of inputs and outputs; `run` reads and writes it without copies. */
    int (*bind)(int64_t part, void *context);
    int (*run)(int64_t part);
};

#endif
