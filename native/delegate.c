/* libnnapi_delegate.so: a delegate for LiteRT, whose answers are Python's.
 *
 * Like libneuralnetworks.so it is linked to no libpython; it opens that library, which hosts Python, by its place in the
 * package. What is C here is what LiteRT calls for every inference, and what it demands to be C.
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

static serve_t serve; /* found by the first delegate, before any other thread knows one */
static const char *(*last_error)(void);

struct delegate {
    TfLiteDelegate base;
    int64_t number;
};

/* A node of the delegate: the tensors around it that are not constants, and their addresses when they were bound. */
struct part {
    int64_t number;
    int count, is_bound;
    int *tensors;
    void **places;
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
    if (python && part->number) python->close_part(part->number);
    free(part->tensors);
    free(part->places);
    free(part);
}

static void *open_part(TfLiteContext *context, const char *buffer, size_t length) {
    const TfLiteDelegateParams *params = (const TfLiteDelegateParams *)buffer;
    const struct nnapi_serving *python = serve(0);
    struct part *part = calloc(1, sizeof *part);
    const TfLiteIntArray *ends[] = {params->input_tensors, params->output_tensors};
    size_t most = (size_t)(ends[0]->size + ends[1]->size) + 1;
    (void)length;
    if (!part) return NULL;
    part->tensors = malloc(most * sizeof *part->tensors);
    part->places = malloc(most * sizeof *part->places);
    if (part->tensors && part->places && python)
        part->number = python->open_part(((struct delegate *)params->delegate)->number, context, params);
    if (!part->number) fail(context); /* prepare_part will too, which LiteRT hears */
    else
        for (int end = 0; end < 2; end++)
            for (int i = 0; i < ends[end]->size; i++) {
                int tensor = ends[end]->data[i];
                if (tensor >= 0 && context->tensors[tensor].allocation_type != CONSTANT) part->tensors[part->count++] = tensor;
            }
    return part;
}

static int prepare_part(TfLiteContext *context, TfLiteNode *node) {
    struct part *part = node->user_data;
    const struct nnapi_serving *python = serve(0);
    if (!part || !part->number || !python || !python->prepare(part->number, context)) return fail(context);
    part->is_bound = 0;
    return OK;
}

/* Whether all memory lies where it lay when it was bound; notes where it lies. */
static int is_in_place(const TfLiteContext *context, struct part *part) {
    int same = part->is_bound;
    for (int i = 0; i < part->count; i++) {
        void *place = context->tensors[part->tensors[i]].data;
        same &= part->places[i] == place;
        part->places[i] = place;
    }
    return same;
}

static int run_part(TfLiteContext *context, TfLiteNode *node) {
    struct part *part = node->user_data;
    const struct nnapi_serving *python = serve(0);
    if (!python) return fail(context);
    if (!is_in_place(context, part)) part->is_bound = python->bind(part->number, context);
    return part->is_bound && python->run(part->number) ? OK : fail(context);
}

static int take_parts(TfLiteContext *context, TfLiteDelegate *delegate) {
    const TfLiteRegistration registration = {
        .init = open_part, .free = close_part, .prepare = prepare_part, .invoke = run_part,
        .custom_name = "nnapi", .version = 1};
    const struct nnapi_serving *python = serve(0);
    TfLiteIntArray *plan, *taken;
    int result;
    if (!python) return fail(context);
    if (context->GetExecutionPlan(context, &plan) != OK) return FAILED;
    taken = malloc(sizeof *taken + (size_t)plan->size * sizeof *taken->data);
    if (!taken) return FAILED;
    taken->size = 0;
    if (!python->choose(((struct delegate *)delegate)->number, context, (int *)taken)) result = fail(context);
    else if (!taken->size) result = OK;
    else result = context->ReplaceNodeSubsetsWithDelegateKernels(context, registration, taken, delegate);
    free(taken);
    return result;
}

/* Finds the library that hosts Python; says why not. */
static int find_library(void (*report)(const char *)) {
    char path[PATH_MAX], reason[PATH_MAX + 256];
    void *library;
    if (serve) return 1;
    beside(path, "libneuralnetworks.so");
    library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (library) {
        last_error = (const char *(*)(void))dlsym(library, "nnapi_last_error");
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
    if (!made || !made->number) {
        if (report) report(last_error());
        free(made);
        return NULL;
    }
    made->base.Prepare = take_parts;
    made->base.flags = ALLOW_DYNAMIC; /* else LiteRT prepares all operators first, and refuses those that it lacks */
    return &made->base;
}

EXPORT void tflite_plugin_destroy_delegate(TfLiteDelegate *delegate) {
    const struct nnapi_serving *python = delegate ? serve(1) : NULL;
    if (python) python->close(((struct delegate *)delegate)->number);
    free(delegate);
}
