/* The functions that libneuralnetworks.so calls in the bridge, the extension module that calls Python. */
#ifndef NNAPI_BRIDGE_H
#define NNAPI_BRIDGE_H

#include "serving.h"

/* The functions of libneuralnetworks.so that Python calls. */
struct nnapi_host {
    /* Returns the buffer for this thread's last error. */
    char *(*message)(void);
    /* Permits calls in a child that Python has forked. */
    void (*revive)(void);
    /* Called after a device has prepared a model. */
    void (*after_preparing)(void);
};

struct nnapi_bridge {
    /* Starts an interpreter like the given python executable. Returns null, or the reason of a failure. */
    const char *(*boot)(const char *executable);
    /* Imports the package and fills `entries`. Returns null, or the reason of a failure. */
    const char *(*join)(void **entries, const struct nnapi_host *host);
    /* Imports a module that `join` does not import. Returns null, or the reason of a failure. */
    const char *(*import)(const char *module);
    /* The functions that `nnapi.delegate.calls` implements. */
    const struct nnapi_serving *serving;
};

#endif
