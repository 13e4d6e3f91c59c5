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
#include <link.h>
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
#include "gate.h"
#include "glibc.h"
#include "interpreter.h"
#include "serving.h"

#define EXPORT __attribute__((visibility("default")))

#ifndef F_SEAL_FUTURE_WRITE
#define F_SEAL_FUTURE_WRITE 0x0010 /* since Linux 5.1; glibc 2.28 lacks the name */
#endif

enum { NEW, READY, FORKED };
enum { END = NNAPI_ENTRIES - 3, BEFORE_FORK, AFTER_FORK }; /* the last entries; no exported function calls them */

static pthread_mutex_t starting = PTHREAD_MUTEX_INITIALIZER;
static atomic_int state = NEW;
static int (*is_initialized)(void);
static int (*is_finalizing)(void);
static int hosts_python; /* this library started Python, and ends it */
static pid_t hosting_process;
extern void *__dso_handle;
void __cxa_finalize(void *);
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

static int is_running(void) { return state == READY && is_initialized(); }

static void call_around_fork(int entry) {
    if (hosts_python && is_running()) ((void (*)(void))entries[entry])();
}

static void before_fork(void) { call_around_fork(BEFORE_FORK); }

static void after_fork(void) { call_around_fork(AFTER_FORK); }

static void in_child(void) {
    if (state == READY) state = FORKED;
}

static void revive(void) { state = READY; } /* Python itself forked the process, so its locks and threads are valid in the child */

static char *this_message(void) { return message; }

/* Ends the program as exit() does, with its status and its output, but without the handlers and destructors that are left. */
static void leave(int status) {
#ifdef __GLIBC__
    fcloseall(); /* flushes without locks, as exit() does: another thread may hold one while it waits for input */
    _exit(status);
#else
    (void)status; /* unknown: musl has no on_exit */
#endif
}

static void at_end(int status, void *unused);

#ifndef __GLIBC__
static void at_end_without_status(void) { at_end(0, NULL); }
#endif

/* Makes at_end run before all handlers and destructors that are registered already, for exit() runs the last one first. */
static void put_end_first(void) {
#ifdef __GLIBC__
    on_exit(at_end, NULL);
#else
    atexit(at_end_without_status);
#endif
}

/* Keeps other threads out of the library, and runs Python's exit handlers, which stop nnapi's own threads. A thread that
 * remains in an engine would not survive the engine's destructors, so they do not run then. Neither does anything run that
 * needs Python if this thread itself was interrupted in a call.
 *
 * Before glibc 2.41, two threads that both call exit() run destructors at the same time, and may crash. So the first one
 * runs them here, while the second one finds only at_end, and waits. It ends the program if the first one takes long, as a
 * destructor may join the second one. */
static void at_end(int status, void *unused) {
    enum { LONG = 5 }; /* seconds */
    static atomic_int first_status;
    (void)unused;
    if (getpid() != hosting_process || has_closed_gate()) return;
    if (is_inside()) {
        leave(status);
    } else if (close_gate()) {
        first_status = status;
        put_end_first();
        await_others();
        int is_busy = is_running() ? ((int (*)(void))entries[END])() : 0;
        open_exit();
        if (is_busy || are_others_inside()) leave(status);
#ifdef __GLIBC__
        __cxa_finalize(NULL);
#endif
    } else {
        sleep(LONG);
        leave(first_status);
    }
}

static int count_loaded(struct dl_phdr_info *info, size_t size, void *count) {
    (void)size;
    *(unsigned long long *)count = info->dlpi_adds;
    return 1;
}

/* Called when a device has prepared a model: its engine may have been loaded for it, and have made objects with destructors.
 * Once it has prepared many, only for libraries loaded since, as each registration takes memory. */
static void after_preparing(void) {
    enum { MANY = 100 };
    static atomic_int registrations;
    static _Atomic unsigned long long known;
    unsigned long long loaded = 0;
    if (!hosts_python) return;
    dl_iterate_phdr(count_loaded, &loaded);
    if (atomic_exchange(&known, loaded) == loaded && registrations >= MANY) return;
    registrations++;
    put_end_first();
}

static void put_end_first_in_main(void *unused) {
    (void)unused;
    put_end_first();
}

/* Makes at_end run first if the main thread ends the program: exit() runs the thread-local destructors of its thread before
 * all handlers, also before those of objects that engines have made while they computed. */
static void watch_main(void) {
    static _Thread_local int is_watched;
    int (*at_thread_end)(void (*)(void *), void *, void *);
    if (is_watched) return;
    is_watched = 1;
    if (!hosts_python || (pid_t)syscall(SYS_gettid) != getpid()) return;
    at_thread_end = (int (*)(void (*)(void *), void *, void *))dlsym(RTLD_DEFAULT, "__cxa_thread_atexit_impl");
    if (at_thread_end) at_thread_end(put_end_first_in_main, NULL, &__dso_handle);
}

/* Starts the interpreter of this process. Returns null, or the reason of a failure. */
static const char *host_python(const char *executable) {
    hosts_python = 1;
    hosting_process = getpid();
    put_end_first();
    watch_main();
    return bridge->boot(executable);
}

static const struct nnapi_host host = {this_message, revive, after_preparing};

/* Finds Python and opens the bridge, once. Returns 0, with a message, on failure. */
static int open_bridge(const char *function, const char **executable, char *python) {
    char path[PATH_MAX];
    int (*finalizing)(void);
    void *module;
    if (!find_python(function, executable, python)) return 0;
    if (bridge) return 1; /* threads that are ready use it already */
    const char *version = ((const char *(*)(void))dlsym(RTLD_DEFAULT, "Py_GetVersion"))();
    if (strncmp(version, NNAPI_PYTHON_VERSION ".", strlen(NNAPI_PYTHON_VERSION ".")))
        return complain(function, "built for Python " NNAPI_PYTHON_VERSION ", but this process runs %.20s", version);
    finalizing = (int (*)(void))dlsym(RTLD_DEFAULT, "Py_IsFinalizing"); /* since Python 3.13; older ones: */
    is_finalizing = finalizing ? finalizing : (int (*)(void))dlsym(RTLD_DEFAULT, "_Py_IsFinalizing");
    beside(path, NNAPI_BRIDGE);
    module = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!module) return complain(function, "%s", dlerror());
    bridge = dlsym(module, "nnapi_bridge");
    return 1;
}

/* Starts an interpreter if there is none, and connects to the package. Returns 0, with a message, on failure. */
static int start(const char *function) {
    char python[PATH_MAX];
    const char *reason = NULL, *executable = NULL;
    int is_open;

    pthread_mutex_lock(&starting);
    is_open = open_bridge(function, &executable, python);
    if (is_open && !is_initialized()) reason = host_python(executable);
    /* No lock is held from here on: a thread that waits for Python's lock must not block others on this one. */
    pthread_mutex_unlock(&starting);

    if (!is_open) return 0;
    if (!reason) reason = bridge->join(entries, &host);
    if (reason) return complain(function, "%s", reason);
    if (atomic_exchange(&state, READY) == NEW) pthread_atfork(before_fork, after_fork, in_child);
    return 1;
}

/* Returns whether Python is ready for a call; if not, reports why. */
static int is_ready(const char *function) {
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

/* Begins a call, which leave_gate ends. Returns 0, with a message, if it cannot be made. */
static int enter(const char *function) {
    if (!enter_gate()) return complain(function, "the process is ending");
    if (is_ready(function)) return 1;
    leave_gate();
    return 0;
}

/* Whether Python has ended, and freed everything with it. At exit, many programs still free their objects. */
static int is_over(void) { return state == READY && (!is_initialized() || (is_finalizing && is_finalizing())); }

/* Begins a call from libnnapi_delegate.so, which nnapi_served ends. Returns the functions for it; null, with a message, if
 * there is no Python. A caller that only releases an object gets null without a message if Python has not started or has
 * ended. */
EXPORT const struct nnapi_serving *nnapi_serve(int only_releases) {
    static const struct nnapi_serving *_Atomic serving;
    const char *reason;
    if (only_releases && (!serving || state != READY || is_over())) return NULL;
    if (!enter(__func__)) return NULL;
    if (!serving) {
        reason = bridge->import("nnapi.delegate.calls");
        if (reason) {
            leave_gate();
            return complain(__func__, "%s", reason), NULL;
        }
        serving = bridge->serving;
    }
    return serving;
}

EXPORT void nnapi_served(void) { leave_gate(); }

EXPORT int ASharedMemory_create(const char *name, size_t size) {
    if (!size) return errno = EINVAL, -1;
    int fd = memfd_create(name ? name : "none", MFD_CLOEXEC | MFD_ALLOW_SEALING);
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

EXPORT int ASharedMemory_setProt(int fd, int prot) {
    int seals = fcntl(fd, F_GET_SEALS);
    if (seals < 0) return -1;
    if (!(prot & PROT_WRITE)) return fcntl(fd, F_ADD_SEALS, F_SEAL_FUTURE_WRITE);
    if (seals & (F_SEAL_FUTURE_WRITE | F_SEAL_WRITE)) return errno = EINVAL, -1;
    return 0;
}

#include "forward.h"

EXPORT NnApiSLDriverImpl *ANeuralNetworks_getSLDriverImpl(void) { return &support_library.base; }
