/* A program in C with as much of LiteRT as a delegate sees: one graph, y = relu(x), of which the delegate takes the only
 * node, or nothing. argv: the delegate's library. */
#include <dlfcn.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"
#include "litert.h"

enum { RELU = 19, FLOAT32 = 1, ARENA = 2, COUNT = 6, THREADS = 4 };

typedef TfLiteDelegate *(*create_t)(const char *const *, const char *const *, size_t, void (*)(const char *));

static char said[4096];
static void say(const char *text) { snprintf(said, sizeof said, "%s", text); }

/* One interpreter: what a real one keeps behind the context. */
struct graph {
    TfLiteContext context;
    TfLiteTensor tensors[2];
    TfLiteNode node;
    TfLiteRegistration registration, ours;
    TfLiteIntArray *plan;
    TfLiteDelegateParams params;
    float x[COUNT], y[COUNT];
    int is_taken;
};

static TfLiteIntArray *list(int size, int first, int second) {
    TfLiteIntArray *made = malloc(sizeof *made + 2 * sizeof(int));
    CHECK(made);
    made->size = size;
    made->data[0] = first;
    made->data[1] = second;
    return made;
}

static void report(TfLiteContext *context, const char *format, ...) {
    va_list arguments;
    (void)context;
    va_start(arguments, format);
    vsnprintf(said, sizeof said, format, arguments);
    va_end(arguments);
}

static int get_plan(TfLiteContext *context, TfLiteIntArray **plan) {
    *plan = ((struct graph *)context->impl)->plan;
    return 0;
}

static int get_node(TfLiteContext *context, int number, TfLiteNode **node, TfLiteRegistration **registration) {
    struct graph *graph = context->impl;
    *node = &graph->node;
    *registration = &graph->registration;
    return number != 0;
}

static int preview(TfLiteContext *context, const TfLiteIntArray *nodes, TfLiteDelegateParams **params, int *count) {
    *params = &((struct graph *)context->impl)->params;
    *count = nodes->size;
    return 0;
}

static int resize(TfLiteContext *context, TfLiteTensor *tensor, TfLiteIntArray *dims) {
    (void)context;
    free(tensor->dims);
    tensor->dims = dims;
    return 0;
}

static int replace(TfLiteContext *context, TfLiteRegistration ours, const TfLiteIntArray *nodes, TfLiteDelegate *delegate) {
    struct graph *graph = context->impl;
    CHECK(nodes->size == 1 && nodes->data[0] == 0);
    graph->params.delegate = delegate;
    graph->ours = ours;
    graph->node.user_data = ours.init(context, (const char *)&graph->params, 0);
    graph->is_taken = 1;
    return 0;
}

static struct graph *make(void) {
    struct graph *graph = calloc(1, sizeof *graph);
    CHECK(graph);
    for (int i = 0; i < 2; i++) {
        graph->tensors[i].type = FLOAT32;
        graph->tensors[i].data = i ? graph->y : graph->x;
        graph->tensors[i].dims = list(2, 2, COUNT / 2);
        graph->tensors[i].allocation_type = ARENA;
        graph->tensors[i].bytes = sizeof graph->x;
        graph->tensors[i].name = i ? "y" : "x";
    }
    graph->node.inputs = list(1, 0, 0);
    graph->node.outputs = list(1, 1, 0);
    graph->registration.builtin_code = RELU;
    graph->plan = list(1, 0, 0);
    graph->params.nodes_to_replace = graph->plan;
    graph->params.input_tensors = graph->node.inputs;
    graph->params.output_tensors = graph->node.outputs;
    graph->context.tensors_size = 2;
    graph->context.tensors = graph->tensors;
    graph->context.impl = graph;
    graph->context.GetExecutionPlan = get_plan;
    graph->context.GetNodeAndRegistration = get_node;
    graph->context.ReportError = report;
    graph->context.ResizeTensor = resize;
    graph->context.PreviewDelegatePartitioning = preview;
    graph->context.ReplaceNodeSubsetsWithDelegateKernels = replace;
    return graph;
}

static int run(struct graph *graph) {
    for (int i = 0; i < COUNT; i++) graph->x[i] = (float)(i - 3);
    if (graph->ours.invoke(&graph->context, &graph->node)) return 0;
    const float *y = graph->tensors[1].data;
    for (int i = 0; i < COUNT; i++) CHECK(y[i] == (i > 3 ? (float)(i - 3) : 0));
    return 1;
}

static void *use(void *delegate) {
    struct graph *graph = make();
    float elsewhere[COUNT];
    CHECK(!((TfLiteDelegate *)delegate)->Prepare(&graph->context, delegate) && graph->is_taken);
    CHECK(!graph->ours.prepare(&graph->context, &graph->node));
    for (int i = 0; i < 3; i++) CHECK(run(graph));
    graph->tensors[1].data = elsewhere; /* LiteRT may move what it likes between two runs */
    CHECK(run(graph));
    graph->tensors[1].data = graph->y;
    CHECK(run(graph));
    return graph;
}

int main(int count, char **words) {
    const char *keys[] = {"devices"}, *known[] = {"nnapi-reference"}, *unknown[] = {"toaster"};
    pthread_t threads[THREADS];
    void *results[THREADS];
    int status;
    void *library = count == 2 ? dlopen(words[1], RTLD_NOW) : NULL;
    CHECK(library);
    create_t create = (create_t)dlsym(library, "tflite_plugin_create_delegate");
    void (*destroy)(TfLiteDelegate *) = (void (*)(TfLiteDelegate *))dlsym(library, "tflite_plugin_destroy_delegate");

    CHECK(!create(keys, unknown, 1, say));
    CHECK(strstr(said, "toaster"));
    TfLiteDelegate *delegate = create(keys, known, 1, say);
    CHECK(delegate);

    for (int i = 0; i < THREADS; i++) CHECK(!pthread_create(&threads[i], NULL, use, delegate));
    for (int i = 0; i < THREADS; i++) CHECK(!pthread_join(threads[i], &results[i]));

    struct graph *first = results[0], *other = make();
    other->registration.builtin_code = 156; /* ATAN2, which NNAPI does not have */
    CHECK(!delegate->Prepare(&other->context, delegate) && !other->is_taken);

    for (int rows = 1; rows <= 3; rows++) { /* resized without having nodes chosen anew */
        first->tensors[0].dims->data[0] = rows;
        first->tensors[0].dims->data[1] = COUNT / rows;
        CHECK(!first->ours.prepare(&first->context, &first->node));
        CHECK(first->tensors[1].dims->data[0] == rows && run(first));
    }
    first->tensors[0].dims->data[0] = 0;
    CHECK(first->ours.prepare(&first->context, &first->node) && strstr(said, "has no elements: it is [0, 2]"));
    first->tensors[0].dims->data[0] = 3;

    fflush(NULL);
    pid_t child = fork();
    if (!child) { /* where there is no Python: a message, no crash */
        int failed = !run(first) && strstr(said, "forked");
        first->ours.free(&first->context, first->node.user_data);
        _exit(failed ? 0 : 1);
    }
    CHECK(waitpid(child, &status, 0) == child && WIFEXITED(status) && !WEXITSTATUS(status));
    CHECK(run(first));

    for (int i = 1; i < THREADS; i++) { /* the first stays alive until the process has ended */
        struct graph *graph = results[i];
        graph->ours.free(&graph->context, graph->node.user_data);
    }
    destroy(delegate);
    puts("done");
    return 0;
}
