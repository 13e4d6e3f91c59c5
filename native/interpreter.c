/* Finds the Python of this package's environment by the path of this library at run time. The build cannot know the path:
 * wheels are installed anywhere, and environments move and get other patch versions.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "glibc.h"
#include "interpreter.h"

#define NAME "python" NNAPI_PYTHON_VERSION NNAPI_PYTHON_ABIFLAGS

void beside(char *path, const char *name) {
    static const char here;
    Dl_info self;
    char *slash;
    path[0] = 0;
    if (dladdr((void *)&here, &self) && realpath(self.dli_fname, path) && (slash = strrchr(path, '/')))
        snprintf(slash + 1, PATH_MAX - (size_t)(slash + 1 - path), "%s", name);
}

/* Whether this process may use a file, with the rights that it has in a setuid program. */
static int may(const char *path, int mode) { return !faccessat(AT_FDCWD, path, mode, AT_EACCESS); }

/* The first python of this version on PATH, for packages outside an environment: in a user's folder, or Debian's. Not in a
 * program with more rights than its caller, who would choose the python. */
static int on_path(char *path) {
    const char *folder = secure_getenv("PATH");
    while (folder && *folder) {
        size_t length = strcspn(folder, ":");
        snprintf(path, PATH_MAX, "%.*s/" NAME, (int)length, folder);
        if (length && may(path, X_OK)) return 1;
        folder += length + (folder[length] == ':');
    }
    return 0;
}

const char *interpreter(char *path) {
    const char *named = secure_getenv("NNAPI_PYTHON");
    if (named && *named) return named;
#ifdef NNAPI_PYTHON_PATH /* built in a checkout, which is not inside an environment */
    if (may(NNAPI_PYTHON_PATH, X_OK)) return NNAPI_PYTHON_PATH;
#endif
    beside(path, "../../../../../../bin/" NAME); /* from lib/python3.x/site-packages/nnapi/capi/cpython-3x */
    if (may(path, X_OK)) return path;
    return on_path(path) ? path : NULL;
}

/* Loads ../lib/libpython, or ../lib64, as seen from a folder of executables. */
static void *load_from(const char *folder) {
    char path[PATH_MAX + 64];
    void *loaded = NULL;
    for (int wide = 0; !loaded && wide < 2; wide++) {
        snprintf(path, sizeof path, "%s/../lib%s/" NNAPI_LIBPYTHON, folder, wide ? "64" : "");
        /* RTLD_GLOBAL: extension modules such as NumPy's find Python's symbols among the global ones of the process. */
        if (may(path, R_OK)) loaded = dlopen(path, RTLD_NOW | RTLD_GLOBAL);
    }
    return loaded;
}

/* Copies to `home` the folder of the python that made the environment; for environments with copies instead of links. */
static int home_of(const char *executable, char *home) {
    static const char key[] = "home = ";
    char path[PATH_MAX + 16], line[PATH_MAX + sizeof key];
    FILE *file;
    int found = 0;
    snprintf(path, sizeof path, "%s", executable);
    snprintf(strrchr(path, '/'), 16, "/../pyvenv.cfg");
    if (!(file = fopen(path, "r"))) return 0;
    while (!found && fgets(line, sizeof line, file)) {
        if (strncmp(line, key, strlen(key))) continue;
        line[strcspn(line, "\n")] = 0;
        snprintf(home, PATH_MAX, "%s", line + strlen(key));
        found = 1;
    }
    fclose(file);
    return found;
}

/* musl's threads have a stack of 128 KB, too little for Python. Python's executable is linked with a larger default, other
 * programs are not. */
static void widen_stacks(void) {
#ifndef __GLIBC__
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, 8 << 20); /* the default of glibc */
    pthread_setattr_default_np(&attributes);
    pthread_attr_destroy(&attributes);
#endif
}

void *load_libpython(const char *executable) {
    char real[PATH_MAX], folder[PATH_MAX];
    void *loaded = NULL;
    widen_stacks();
    if (realpath(executable, real)) {
        snprintf(folder, sizeof folder, "%s", real);
        *strrchr(folder, '/') = 0;
        loaded = load_from(folder);
        if (!loaded && home_of(real, folder)) loaded = load_from(folder);
    }
    return loaded ? loaded : dlopen(NNAPI_LIBPYTHON, RTLD_NOW | RTLD_GLOBAL);
}
