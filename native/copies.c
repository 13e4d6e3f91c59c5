/* nnapi.runtime._copies: copy bytes between pairs of memoryviews, for models of a microsecond with many states. */
#include <Python.h>

#include <string.h>

typedef struct {
    void *target;
    const void *source;
    size_t size;
} Copy;

static PyObject *copy(PyObject *bound, PyObject *unused)
{
    (void)unused;
    PyObject *copies = PyTuple_GET_ITEM(bound, 0);
    const Copy *next = (const Copy *)PyBytes_AS_STRING(copies);
    for (const Copy *end = next + PyBytes_GET_SIZE(copies) / (Py_ssize_t)sizeof *next; next < end; next++)
        memmove(next->target, next->source, next->size);
    Py_RETURN_NONE;
}

static PyMethodDef bound_copy = {
    "copy", copy, METH_NOARGS,
    "copy()\n--\n\nCopy to the first memoryview of each pair the bytes of the second.",
};

static int read_pair(PyObject *pair, Copy *copy)
{
    if (!PyTuple_Check(pair) || PyTuple_GET_SIZE(pair) != 2)
        return 0;
    for (Py_ssize_t i = 0; i < 2; i++) {
        PyObject *view = PyTuple_GET_ITEM(pair, i);
        if (!PyMemoryView_Check(view) || !PyBuffer_IsContiguous(PyMemoryView_GET_BUFFER(view), 'C'))
            return 0;
    }
    const Py_buffer *target = PyMemoryView_GET_BUFFER(PyTuple_GET_ITEM(pair, 0));
    const Py_buffer *source = PyMemoryView_GET_BUFFER(PyTuple_GET_ITEM(pair, 1));
    *copy = (Copy){target->buf, source->buf, (size_t)source->len};
    return !target->readonly && target->len == source->len;
}

static PyObject *bind_copies(PyObject *module, PyObject *pairs)
{
    (void)module;
    int all_fit = PyTuple_Check(pairs);
    Py_ssize_t count = all_fit ? PyTuple_GET_SIZE(pairs) : 0;
    PyObject *copies = PyBytes_FromStringAndSize(NULL, count * (Py_ssize_t)sizeof(Copy));
    if (!copies)
        return NULL;
    for (Py_ssize_t i = 0; all_fit && i < count; i++)
        all_fit = read_pair(PyTuple_GET_ITEM(pairs, i), (Copy *)PyBytes_AS_STRING(copies) + i);
    PyObject *bound = all_fit ? PyTuple_Pack(2, copies, pairs) : NULL; /* the views keep the memory alive */
    Py_DECREF(copies);
    if (!all_fit)
        PyErr_SetString(PyExc_TypeError, "need a tuple of pairs of contiguous memoryviews of the same size");
    if (!bound)
        return NULL;
    PyObject *function = PyCFunction_New(&bound_copy, bound);
    Py_DECREF(bound);
    return function;
}

static PyMethodDef methods[] = {
    {"bind_copies", bind_copies, METH_O,
     "bind_copies(pairs, /)\n--\n\nReturn a function that copies to the first memoryview of each pair the bytes of the "
     "second. The views must not be released."},
    {NULL, NULL, 0, NULL},
};

static PyModuleDef_Slot slots[] = {
#ifdef Py_GIL_DISABLED
    {Py_mod_gil, Py_MOD_GIL_NOT_USED},
#endif
    {0, NULL},
};

static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT, "nnapi.runtime._copies", NULL, 0, methods, slots, NULL, NULL, NULL,
};

PyMODINIT_FUNC PyInit__copies(void)
{
    return PyModuleDef_Init(&definition);
}
