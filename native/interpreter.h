/* Where the Python is that libneuralnetworks.so starts in a program that has none. */
#ifndef NNAPI_INTERPRETER_H
#define NNAPI_INTERPRETER_H

/* Into `path`, of PATH_MAX bytes: a file named from the folder that this library lies in; empty if it cannot be told. */
void beside(char *path, const char *name);

/* The python executable of the environment this package is installed in; null where there is none. `path`, of PATH_MAX
   bytes, may hold the result. */
const char *interpreter(char *path);

/* Loads the libpython of an executable for the whole process, or else the system's. Null, and dlerror, on failure. */
void *load_libpython(const char *executable);

#endif
