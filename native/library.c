/* libneuralnetworks.so: every exported function calls Python.
 *
 * This file does not include Python's headers and is not linked to libpython, so that any program can load it. The first
 * call looks for an interpreter in the process, or loads libpython and starts one. Then it opens the bridge, a Python
 * extension module beside the library, which has an address for each exported function.
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
#include <sys/syscall.h>
#include <unistd.h>

#include "NeuralNetworks.h"
#include "NeuralNetworksExtensions.h"
#include "android/hardware_buffer.h"
#include "android/sharedmem.h"
#include "android/trace.h"
#include "NeuralNetworksSupportLibraryImpl.h"
#include "bridge.h"
#include "diagnosis.h"
#include "glibc.h"
#include "interpreter.h"
#include "serving.h"

#define EXPORT __attribute__((visibility("default")))

enum { NEW, READY, FORKED };

static pthread_mutex_t starting = PTHREAD_MUTEX_INITIALIZER;
static atomic_int state = NEW;
static int (*is_initialized)(void);
static int (*is_finalizing)(void);
static int hosts_python; /* this library started Python, and ends it */
extern void *__dso_handle;
static void *entries[NNAPI_ENTRIES];
static const struct nnapi_bridge *bridge;
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

/* Finds the interpreter of the process, or else loads libpython; `executable` is then the python to start it as. */
static int find_python(const char *function, const char **executable, char *path) {
    if (!is_initialized) is_initialized = (int (*)(void))dlsym(RTLD_DEFAULT, "Py_IsInitialized");
    if (is_initialized && is_initialized()) return 1;
    *executable = interpreter(path);
    if (!*executable)
        return complain(function, "no python" NNAPI_PYTHON_VERSION " is where this library is installed, nor on PATH; "
                                  "name one in NNAPI_PYTHON");
    if (is_initialized) return 1;
    void *python = load_libpython(*executable);
    if (!python) return complain(function, "the shared library of %s cannot be loaded: %s", *executable, dlerror());
    is_initialized = (int (*)(void))dlsym(python, "Py_IsInitialized");
    return 1;
}

static void in_child(void) {
    if (state == READY) state = FORKED;
}

static void revive(void) { state = READY; } /* Python itself forked the process, so its locks and threads are valid in the child */

static char *this_message(void) { return message; }

static void at_end(void) {
    void (*end)(void) = (void (*)(void))entries[NNAPI_ENTRIES - 1];
    if (state == READY && is_initialized()) end();
}

static void at_end_of_main(void *unused) {
    (void)unused;
    at_end();
}

/* Makes Python's exit handlers run before the destructors of engines. Engines are loaded after this library, and make some
 * objects while they compile, so exit() would run their destructors before at_end, while a thread of this library may
 * still be in the engine. exit() runs the thread-local destructors of the calling thread first, so at_end is registered
 * as one of the main thread. */
static void watch_main(void) {
    static _Thread_local int is_watched;
    int (*at_thread_end)(void (*)(void *), void *, void *);
    if (is_watched) return;
    is_watched = 1;
    if (!hosts_python || (pid_t)syscall(SYS_gettid) != getpid()) return;
    at_thread_end = (int (*)(void (*)(void *), void *, void *))dlsym(RTLD_DEFAULT, "__cxa_thread_atexit_impl");
    if (at_thread_end) at_thread_end(at_end_of_main, NULL, &__dso_handle);
}

/* Opens the bridge, starts an interpreter if there is none, and connects. Returns 0, with a message, on failure. */
static int start(const char *function) {
    char path[PATH_MAX], python[PATH_MAX];
    const char *reason = NULL, *executable = NULL;
    void *module;
    int started = 0;

    pthread_mutex_lock(&starting);
    if (!find_python(function, &executable, python)) goto failed;
    is_finalizing = (int (*)(void))dlsym(RTLD_DEFAULT, "Py_IsFinalizing"); /* since Python 3.13; older ones: */
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
        reason = bridge->boot(executable);
        started = !reason;
    }
    /* No lock is held from here on: a thread that waits for Python's lock must not block others on this one. */
    pthread_mutex_unlock(&starting);

    if (!reason) reason = bridge->join(entries, this_message, revive);
    if (reason) return complain(function, "%s", reason);
    if (atomic_exchange(&state, READY) == NEW) pthread_atfork(NULL, NULL, in_child);
    if (started) {
        hosts_python = 1;
        atexit(at_end); /* for programs that call exit() on another thread than the main one */
        watch_main();
    }
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
        watch_main();
        if (is_initialized()) return 1;
        return complain(function, "Python has ended in this process");
    case FORKED:
        return complain(function, "the process was forked after its first call of NNAPI; start another program in the child");
    default:
        return start(function);
    }
}

/* Whether Python has ended, and freed everything with it. At exit, many programs still free their objects. */
static int is_over(void) { return state == READY && (!is_initialized() || (is_finalizing && is_finalizing())); }

/* Returns the functions for libnnapi_delegate.so; null, with a message, if there is no Python. A caller that only releases
 * an object gets null without a message if Python has not started or has ended. */
EXPORT const struct nnapi_serving *nnapi_serve(int only_releases) {
    static const struct nnapi_serving *_Atomic serving;
    const char *reason;
    if (only_releases && (!serving || state != READY || is_over())) return NULL;
    if (!enter(__func__)) return NULL;
    if (!serving) {
        reason = bridge->import("nnapi.delegate.calls");
        if (reason) return complain(__func__, "%s", reason), NULL;
        serving = bridge->serving;
    }
    return serving;
}

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
#ifdef __GLIBC__
    struct statx status; /* fstat would need glibc 2.33 */
    return statx(fd, "", AT_EMPTY_PATH, STATX_SIZE, &status) ? 0 : (size_t)status.stx_size;
#else
    struct stat status; /* musl has no statx before 1.2.5 */
    return fstat(fd, &status) ? 0 : (size_t)status.st_size;
#endif
}

#include "forward.h"

EXPORT NnApiSLDriverImpl *ANeuralNetworks_getSLDriverImpl(void) { return &support_library.base; }
