/* What libnnapi_delegate.so asks of Python, by way of libneuralnetworks.so, which hosts that. Bare declarations, because
 * cffi reads this file too. */
#ifndef NNAPI_SERVING_H
#define NNAPI_SERVING_H

#include <stdint.h>

/* Numbers stand for delegates and parts of graphs, 0 for none. What fails gives 0, and nnapi_last_error the reason. */
struct nnapi_serving {
    int64_t (*open)(const char *const *keys, const char *const *values, int count);
    void (*close)(int64_t delegate);
    /* Into `taken`: how many nodes of a graph the delegate claims, and which. */
    int (*choose)(int64_t delegate, void *context, int *taken);
    /* What of a graph became one node, as TfLiteDelegateParams say. */
    int64_t (*open_part)(int64_t delegate, void *context, const void *params);
    void (*close_part)(int64_t part);
    /* Compiles a part for the shapes that its inputs have now, and resizes its outputs; at once if nothing changed. */
    int (*prepare)(int64_t part, void *context);
    /* Takes the memory of inputs and outputs as it lies; `run` reads and writes it there. */
    int (*bind)(int64_t part, void *context);
    int (*run)(int64_t part);
};

#endif
