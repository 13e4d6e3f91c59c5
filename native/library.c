/* libneuralnetworks.so: every exported function goes on to Python.
 *
 * This file knows nothing of Python's headers and is linked to no libpython, so that any program can load it. At the
 * first call it looks for an interpreter in the process, or loads libpython and starts one; then it opens the bridge,
 * a Python extension module beside it, and takes from there one address per exported function.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "NeuralNetworks.h"
#include "NeuralNetworksExtensions.h"
#include "android/hardware_buffer.h"
#include "android/sharedmem.h"
#include "android/trace.h"
#include "NeuralNetworksSupportLibraryImpl.h"
#include "bridge.h"
#include "diagnosis.h"

#define EXPORT __attribute__((visibility("default")))

enum { NEW, READY, FORKED };

static pthread_mutex_t starting = PTHREAD_MUTEX_INITIALIZER;
static atomic_int state = NEW;
static int (*is_initialized)(void);
static int (*is_finalizing)(void);
static void *entries[NNAPI_ENTRIES];
static _Thread_local char message[2048];

EXPORT const char *nnapi_last_error(void) { return message; }

/* Reports a failure that Python cannot report. Returns 0. */
static int complain(const char *function, const char *format, ...) {
    const char *quiet = getenv("NNAPI_QUIET");
    char reason[1536];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(reason, sizeof reason, format, arguments);
    va_end(arguments);
    snprintf(message, sizeof message, "%s: %s", function, reason);
    if (!quiet || !*quiet || !strcmp(quiet, "0")) fprintf(stderr, "nnapi: %s\n", message);
    return 0;
}

/* Into `path`: a file in the folder that this library lies in. */
static void beside(char *path, const char *name) {
    Dl_info self;
    char *slash;
    path[0] = 0;
    if (dladdr((void *)&state, &self) && realpath(self.dli_fname, path) && (slash = strrchr(path, '/')))
        snprintf(slash + 1, PATH_MAX - (size_t)(slash + 1 - path), "%s", name);
}

/* The python of the environment in which this package is installed: as told, as the folders say, as built. */
static const char *interpreter(char *path) {
    const char *told = getenv("NNAPI_PYTHON");
    if (told && *told) return told;
    beside(path, "../../../../../bin/python3"); /* from lib/python3.x/site-packages/nnapi/capi */
    return strstr(path, "/site-packages/") && !access(path, X_OK) ? path : NNAPI_PYTHON_PATH;
}

static int find_python(const char *function) {
    if (!is_initialized) is_initialized = (int (*)(void))dlsym(RTLD_DEFAULT, "Py_IsInitialized");
    if (is_initialized) return 1;
    /* Globally: extension modules such as NumPy's take Python's symbols from the process, wherever they are loaded. */
    void *python = dlopen(NNAPI_LIBPYTHON_PATH, RTLD_NOW | RTLD_GLOBAL);
    if (!python) python = dlopen(NNAPI_LIBPYTHON, RTLD_NOW | RTLD_GLOBAL);
    if (!python) return complain(function, "Python's shared library cannot be loaded: %s", dlerror());
    is_initialized = (int (*)(void))dlsym(python, "Py_IsInitialized");
    return 1;
}

static void in_child(void) {
    if (state == READY) state = FORKED;
}

static void revive(void) { state = READY; } /* Python forked the process itself and has put its threads in order */

static char *this_message(void) { return message; }

static void at_end(void) {
    void (*end)(void) = (void (*)(void))entries[NNAPI_ENTRIES - 1];
    if (state == READY && is_initialized()) end();
}

/* Opens the bridge, starts an interpreter if there is none, and connects. Returns 0, with a message, on failure. */
static int start(const char *function) {
    char path[PATH_MAX], python[PATH_MAX];
    const char *reason = NULL;
    struct nnapi_bridge *bridge;
    void *module;
    int started = 0;

    pthread_mutex_lock(&starting);
    if (!find_python(function)) goto failed;
    is_finalizing = (int (*)(void))dlsym(RTLD_DEFAULT, "Py_IsFinalizing"); /* from Python 3.13 on, before that: */
    if (!is_finalizing) is_finalizing = (int (*)(void))dlsym(RTLD_DEFAULT, "_Py_IsFinalizing");
    const char *version = ((const char *(*)(void))dlsym(RTLD_DEFAULT, "Py_GetVersion"))();
    if (strncmp(version, NNAPI_PYTHON_VERSION ".", strlen(NNAPI_PYTHON_VERSION ".")))
        goto wrong_version;
    beside(path, NNAPI_BRIDGE);
    module = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!module) {
        complain(function, "%s", dlerror());
        goto failed;
    }
    bridge = dlsym(module, "nnapi_bridge");
    if (!is_initialized()) {
        reason = bridge->boot(interpreter(python));
        started = !reason;
    }
    /* No lock is held from here on: who waits for Python's must not make anybody wait for ours. */
    pthread_mutex_unlock(&starting);

    if (!reason) reason = bridge->join(entries, this_message, revive);
    if (reason) return complain(function, "%s", reason);
    if (atomic_exchange(&state, READY) == NEW) pthread_atfork(NULL, NULL, in_child);
    if (started) atexit(at_end);
    return 1;

wrong_version:
    complain(function, "built for Python " NNAPI_PYTHON_VERSION ", but this process runs %.20s", version);
failed:
    pthread_mutex_unlock(&starting);
    return 0;
}

static int enter(const char *function) {
    switch (state) {
    case READY:
        if (is_initialized()) return 1;
        return complain(function, "Python has ended in this process");
    case FORKED:
        return complain(function, "the process was forked after its first call of NNAPI; start another program in the child");
    default:
        return start(function);
    }
}

/* Whether Python has come and gone, so that what is still to be freed went with it: at exit there is much of that. */
static int is_over(void) { return state == READY && (!is_initialized() || (is_finalizing && is_finalizing())); }

EXPORT int ASharedMemory_create(const char *name, size_t size) {
    if (!size) return errno = EINVAL, -1;
    int fd = memfd_create(name ? name : "none", MFD_CLOEXEC);
    if (fd >= 0 && ftruncate(fd, (off_t)size)) {
        close(fd);
        return -1;
    }
    return fd;
}

EXPORT size_t ASharedMemory_getSize(int fd) {
    struct stat status;
    return fstat(fd, &status) ? 0 : (size_t)status.st_size;
}

#include "forward.h"

EXPORT NnApiSLDriverImpl *ANeuralNetworks_getSLDriverImpl(void) { return &support_library.base; }
