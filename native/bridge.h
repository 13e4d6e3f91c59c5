/* What libneuralnetworks.so asks of the bridge, the extension module that holds the Python side. */
#ifndef NNAPI_BRIDGE_H
#define NNAPI_BRIDGE_H

#include "serving.h"

struct nnapi_bridge {
    /* Starts an interpreter as the given python executable would. Returns null, or why it failed. */
    const char *(*boot)(const char *executable);
    /* Imports the package and fills `entries`. Returns null, or why it failed. `message` gives this thread's text of
       the last error; `revive` is called in a child that Python has forked. */
    const char *(*join)(void **entries, char *(*message)(void), void (*revive)(void));
    /* Imports a module that `join` does not. Returns null, or why it failed. */
    const char *(*import)(const char *module);
    /* What `nnapi.delegate.calls` answers. */
    const struct nnapi_serving *serving;
};

#endif
