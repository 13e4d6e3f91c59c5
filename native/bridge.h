/* The functions that libneuralnetworks.so calls in the bridge, the extension module that calls Python. */
#ifndef NNAPI_BRIDGE_H
#define NNAPI_BRIDGE_H

#include "serving.h"

struct nnapi_bridge {
    /* Starts an interpreter like the given python executable. Returns null, or the reason of a failure. */
    const char *(*boot)(const char *executable);
    /* Imports the package and fills `entries`. Returns null, or the reason of a failure. `message` returns the buffer for
       this thread's last error; Python calls `revive` in a child that it has forked. */
    const char *(*join)(void **entries, char *(*message)(void), void (*revive)(void));
    /* Imports a module that `join` does not import. Returns null, or the reason of a failure. */
    const char *(*import)(const char *module);
    /* The functions that `nnapi.delegate.calls` implements. */
    const struct nnapi_serving *serving;
};

#endif
