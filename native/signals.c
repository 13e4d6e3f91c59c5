/* nnapi.cli._signals: end the command after a signal, even while an engine holds Python's GIL for seconds.
 *
 * Python's handlers run between bytecodes, and Python's threads need the GIL. This thread needs neither. */
#include <Python.h>

#include "glibc.h"

#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <time.h>
#include <unistd.h>

static int from_handler, to_python;
static double patience;
static atomic_ullong fatal; /* a bit for each signal that ends the command */

static void wait_for_signal(void *unused)
{
    (void)unused;
    sigset_t all;
    sigfillset(&all);
    sigprocmask(SIG_SETMASK, &all, NULL); /* of this thread; glibc 2.32 gave pthread_sigmask a new version */
    unsigned char number = 0;
    do {
        ssize_t got = read(from_handler, &number, 1);
        if (got == 0 || (got < 0 && errno != EINTR))
            return;
        if (got < 0)
            continue;
        (void)!write(to_python, &number, 1);
    } while (!(atomic_load(&fatal) >> number & 1));
    struct timespec time = {(time_t)patience, (long)((patience - (time_t)patience) * 1e9)};
    while (nanosleep(&time, &time) && errno == EINTR)
        ;
    if (atomic_load(&fatal) >> number & 1)
        _exit(128 + number); /* else a thread of Python is ending the process */
}

static PyObject *set_fatal(PyObject *module, PyObject *signals)
{
    (void)module;
    unsigned long long mask = PyLong_AsUnsignedLongLong(signals);
    if (PyErr_Occurred())
        return NULL;
    atomic_store(&fatal, mask);
    Py_RETURN_NONE;
}

static PyObject *watch(PyObject *module, PyObject *arguments)
{
    (void)module;
    if (!PyArg_ParseTuple(arguments, "iid", &from_handler, &to_python, &patience))
        return NULL;
    if (PyThread_start_new_thread(wait_for_signal, NULL) == PYTHREAD_INVALID_THREAD_ID) {
        PyErr_SetString(PyExc_OSError, "no thread can be started");
        return NULL;
    }
    Py_RETURN_NONE;
}

static PyMethodDef methods[] = {
    {"watch", watch, METH_VARARGS,
     "watch(reader, writer, seconds)\n--\n\nPass signal numbers on from one pipe to another. That many seconds after a "
     "fatal one, end the process if the signal is still fatal."},
    {"set_fatal", set_fatal, METH_O, "set_fatal(mask, /)\n--\n\nSet the signals that end the process: a bit for each."},
    {NULL, NULL, 0, NULL},
};

static PyModuleDef_Slot slots[] = {
#ifdef Py_GIL_DISABLED
    {Py_mod_gil, Py_MOD_GIL_NOT_USED},
#endif
    {0, NULL},
};

static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT, "nnapi.cli._signals", NULL, 0, methods, slots, NULL, NULL, NULL,
};

PyMODINIT_FUNC PyInit__signals(void)
{
    return PyModuleDef_Init(&definition);
}
