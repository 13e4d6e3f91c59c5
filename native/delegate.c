/* libnnapi_delegate.so: a delegate for LiteRT, implemented in Python.
 *
 * Like libneuralnetworks.so, it is not linked to libpython. It opens that library, which hosts Python, by its path in the
 * package. Only the functions that LiteRT calls for every inference, and those that must be C, are in this file.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "glibc.h"
#include "interpreter.h"
#include "litert.h"
#include "serving.h"

#define EXPORT __attribute__((visibility("default")))

enum { OK, FAILED, CONSTANT = 1, ALLOW_DYNAMIC = 1 };

typedef const struct nnapi_serving *(*serve_t)(int);

static void (*served)(void);
static const char *(*last_error)(void);
static _Atomic(serve_t) serve; /* set last, so that a thread that sees it sees the others */

struct delegate {
    TfLiteDelegate base;
    int64_t number;
};

/* A partition of the graph that became one node: its inputs and outputs that are not constants, and the addresses that
 * they had when they were bound. */
struct part {
    int64_t number;
    int count, is_bound;
    int *tensors;
    void **addresses;
};

static int fail(TfLiteContext *context) {
    context->ReportError(context, "%s", last_error());
    return FAILED;
}

static void close_part(TfLiteContext *context, void *user_data) {
    struct part *part = user_data;
    const struct nnapi_serving *python = part ? serve(1) : NULL;
    (void)context;
    if (!part) return;
    if (python) {
        if (part->number) python->close_part(part->number);
        served();
    }
    free(part->tensors);
    free(part->addresses);
    free(part);
}

static void *open_part(TfLiteContext *context, const char *buffer, size_t length) {
    const TfLiteDelegateParams *params = (const TfLiteDelegateParams *)buffer;
    const struct nnapi_serving *python = serve(0);
    struct part *part = calloc(1, sizeof *part);
    const TfLiteIntArray *lists[] = {params->input_tensors, params->output_tensors};
    size_t most = (size_t)(lists[0]->size + lists[1]->size) + 1;
    (void)length;
    if (part) {
        part->tensors = malloc(most * sizeof *part->tensors);
        part->addresses = malloc(most * sizeof *part->addresses);
        if (part->tensors && part->addresses && python)
            part->number = python->open_part(((struct delegate *)params->delegate)->number, context, params);
    }
    if (python) served();
    if (!part) return NULL;
    if (!part->number) fail(context); /* LiteRT ignores it here, but prepare_part fails too */
    else
        for (int list = 0; list < 2; list++)
            for (int i = 0; i < lists[list]->size; i++) {
                int tensor = lists[list]->data[i];
                if (tensor >= 0 && context->tensors[tensor].allocation_type != CONSTANT) part->tensors[part->count++] = tensor;
            }
    return part;
}

static int prepare_part(TfLiteContext *context, TfLiteNode *node) {
    struct part *part = node->user_data;
    const struct nnapi_serving *python = serve(0);
    int result = 0;
    if (python) {
        result = part && part->number && python->prepare(part->number, context);
        served();
    }
    if (!result) return fail(context);
    part->is_bound = 0;
    return OK;
}

/* Returns whether all tensors have the addresses with which they were bound, and stores the current addresses. */
static int has_same_addresses(const TfLiteContext *context, struct part *part) {
    int same = part->is_bound;
    for (int i = 0; i < part->count; i++) {
        void *address = context->tensors[part->tensors[i]].data;
        same &= part->addresses[i] == address;
        part->addresses[i] = address;
    }
    return same;
}

static int run_part(TfLiteContext *context, TfLiteNode *node) {
    struct part *part = node->user_data;
    const struct nnapi_serving *python = serve(0);
    int result;
    if (!python) return fail(context);
    if (!has_same_addresses(context, part)) part->is_bound = python->bind(part->number, context);
    result = part->is_bound && python->run(part->number);
    served();
    return result ? OK : fail(context);
}

/* Claims nodes; `python` has the functions for it. */
static int claim(const struct nnapi_serving *python, TfLiteContext *context, TfLiteDelegate *delegate) {
    const TfLiteRegistration registration = {
        .init = open_part, .free = close_part, .prepare = prepare_part, .invoke = run_part,
        .custom_name = "nnapi", .version = 1};
    TfLiteIntArray *plan, *claimed;
    int result;
    if (context->GetExecutionPlan(context, &plan) != OK) return FAILED;
    claimed = malloc(sizeof *claimed + (size_t)plan->size * sizeof *claimed->data);
    if (!claimed) return FAILED;
    claimed->size = 0;
    if (!python->choose(((struct delegate *)delegate)->number, context, (int *)claimed)) result = fail(context);
    else if (!claimed->size) result = OK;
    else result = context->ReplaceNodeSubsetsWithDelegateKernels(context, registration, claimed, delegate);
    free(claimed);
    return result;
}

static int claim_nodes(TfLiteContext *context, TfLiteDelegate *delegate) {
    const struct nnapi_serving *python = serve(0);
    int result;
    if (!python) return fail(context);
    result = claim(python, context, delegate);
    served();
    return result;
}

/* Loads the library that hosts Python; reports the reason on failure. */
static int find_library(void (*report)(const char *)) {
    char path[PATH_MAX], reason[PATH_MAX + 256];
    void *library;
    if (serve) return 1;
    beside(path, "libneuralnetworks.so");
    library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (library) {
        last_error = (const char *(*)(void))dlsym(library, "nnapi_last_error");
        served = (void (*)(void))dlsym(library, "nnapi_served");
        serve = (serve_t)dlsym(library, "nnapi_serve");
    }
    if (serve) return 1;
    snprintf(reason, sizeof reason, "%s cannot be used: %s", path, dlerror());
    if (report) report(reason);
    return 0;
}

EXPORT TfLiteDelegate *tflite_plugin_create_delegate(const char *const *keys, const char *const *values, size_t count,
                                                     void (*report)(const char *)) {
    const struct nnapi_serving *python;
    struct delegate *made;
    if (!find_library(report)) return NULL;
    python = serve(0);
    made = calloc(1, sizeof *made);
    if (made && python) made->number = python->open(keys, values, (int)count);
    if (python) served();
    if (!made || !made->number) {
        if (report) report(last_error());
        free(made);
        return NULL;
    }
    made->base.Prepare = claim_nodes;
    made->base.flags = ALLOW_DYNAMIC; /* otherwise LiteRT prepares all operators first, and fails for those that it lacks */
    return &made->base;
}

EXPORT void tflite_plugin_destroy_delegate(TfLiteDelegate *delegate) {
    const struct nnapi_serving *python = delegate ? serve(1) : NULL;
    if (python) {
        python->close(((struct delegate *)delegate)->number);
        served();
    }
    free(delegate);
}
