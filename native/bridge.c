/* The C part of the bridge. cffi generates the functions py_..., which call Python. */
#include <stdio.h>
#include <string.h>
#include <sys/auxv.h>

#include "bridge.h"

enum { MESSAGE_SIZE = 2048 };

/* Null if Python code imported nnapi.capi.library without the C library. */
static const struct nnapi_host *host;

static void nnapi_bridge_say(const char *text) { snprintf(host->message(), MESSAGE_SIZE, "%s", text); }

static void nnapi_bridge_revive(void) {
    if (host) host->revive();
}

static void nnapi_bridge_after_preparing(void) {
    if (host) host->after_preparing();
}

/* Gives Python an environment without the caller's variables, then runs `site`, whose .pth files may read it. The home is
 * that of the user whose rights the program has. */
static const char *const start_securely =
    "import os\n"
    "try:\n"
    "    import pwd\n"
    "    home = pwd.getpwuid(os.geteuid()).pw_dir\n"
    "except (ImportError, KeyError):\n"
    "    home = os.devnull\n"
    "os.environ = {'HOME': home}\n"
    "import site\n"
    "site.main()\n";

static const char *boot(const char *executable) {
    const int is_secure = getauxval(AT_SECURE) != 0; /* a setuid program: its caller may choose nothing that it runs or reads */
    PyPreConfig before;
    PyConfig config;
    PyStatus status;
    static char reason[512];

    if (is_secure)
        PyPreConfig_InitIsolatedConfig(&before);
    else
        PyPreConfig_InitPythonConfig(&before);
    before.configure_locale = 0; /* the locale, signal handlers and the buffering of streams belong to the program */
    before.utf8_mode = 1;
    before.parse_argv = 0;
    status = Py_PreInitialize(&before);
    if (PyStatus_Exception(status)) return status.err_msg;

    if (is_secure)
        PyConfig_InitIsolatedConfig(&config);
    else
        PyConfig_InitPythonConfig(&config);
    config.site_import = !is_secure;
    config.install_signal_handlers = 0;
    config.configure_c_stdio = 0;
    config.parse_argv = 0;
    status = PyConfig_SetBytesString(&config, &config.program_name, executable);
    if (!PyStatus_Exception(status)) status = Py_InitializeFromConfig(&config);
    PyConfig_Clear(&config);
    if (PyStatus_Exception(status)) {
        snprintf(reason, sizeof reason, "%s cannot be started: %s", executable, status.err_msg);
        return reason;
    }
    if (is_secure && PyRun_SimpleString(start_securely)) return "Python cannot be started in a setuid program";
    PyEval_SaveThread();
    return NULL;
}

/* Returns the text of the current exception, valid in this thread, and clears it. */
static const char *exception(void) {
    static __thread char reason[1024];
    PyObject *type, *value, *trace, *text;
    PyErr_Fetch(&type, &value, &trace);
    text = value ? PyObject_Str(value) : NULL;
    snprintf(reason, sizeof reason, "nnapi cannot be imported: %s: %s", ((PyTypeObject *)type)->tp_name,
             text ? PyUnicode_AsUTF8(text) : "");
    Py_XDECREF(text);
    Py_XDECREF(type);
    Py_XDECREF(value);
    Py_XDECREF(trace);
    return reason;
}

/* Returns the message that Python imported another package than this file's. */
static const char *other(PyObject *library) {
    static __thread char reason[1024];
    PyObject *file = PyModule_GetFilenameObject(library);
    snprintf(reason, sizeof reason, "Python imports %s, and this library belongs to another nnapi; load the library that "
             "is with that one, or name a python in NNAPI_PYTHON", file ? PyUnicode_AsUTF8(file) : "nnapi");
    Py_XDECREF(file);
    return reason;
}

static const char *join(void **entries, const struct nnapi_host *given) {
    const char *reason = NULL;
    PyGILState_STATE state = PyGILState_Ensure();
    host = given;
    PyObject *library = PyImport_ImportModule("nnapi.capi.library");
    if (!library) reason = exception();
    else if (!_cffi_call_python) reason = other(library); /* set when cffi's module was imported from this file */
    Py_XDECREF(library);
    if (!*entries) memcpy(entries, functions, sizeof functions); /* threads that are ready read them already */
    PyGILState_Release(state);
    return reason;
}

static const char *import(const char *name) {
    PyGILState_STATE state = PyGILState_Ensure();
    PyObject *module = PyImport_ImportModule(name);
    const char *reason = module ? NULL : exception();
    Py_XDECREF(module);
    PyGILState_Release(state);
    return reason;
}

__attribute__((visibility("default"))) const struct nnapi_bridge nnapi_bridge = {boot, join, import, &serving};
