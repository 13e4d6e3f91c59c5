/* Finds and loads the Python that libneuralnetworks.so starts in a program without one. */
#ifndef NNAPI_INTERPRETER_H
#define NNAPI_INTERPRETER_H

/* Writes to `path`, of PATH_MAX bytes, the path of a file relative to this library's folder; empty if that is unknown. */
void beside(char *path, const char *name);

/* The python executable of the environment that this package is installed in; null if there is none. The result may be in
   `path`, of PATH_MAX bytes. */
const char *interpreter(char *path);

/* Loads the libpython of an executable, or else the system's, for the whole process. Returns null on failure; dlerror has
   the reason. */
void *load_libpython(const char *executable);

#endif
