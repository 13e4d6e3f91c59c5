/* As much of LiteRT as a delegate sees: an interpreter with one graph, whose nodes the delegate takes all, or none. */
#ifndef GRAPH_H
#define GRAPH_H

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "litert.h"

enum { FLOAT32 = 1, CONSTANT = 1, ARENA = 2 };

typedef TfLiteDelegate *(*create_t)(const char *const *, const char *const *, size_t, void (*)(const char *));

static char said[4096];
static void say(const char *text) { snprintf(said, sizeof said, "%s", text); }

/* One interpreter: what a real one keeps behind the context. The delegate's node is behind `node`. */
struct graph {
    TfLiteContext context;
    TfLiteTensor *tensors;
    TfLiteNode *nodes, node;
    TfLiteRegistration registration, ours; /* all nodes have the same operator */
    TfLiteIntArray *plan;
    TfLiteDelegateParams params;
    int is_taken;
};

static inline TfLiteIntArray *list(int size, const int *numbers) {
    TfLiteIntArray *made = malloc(sizeof *made + (size_t)size * sizeof(int));
    CHECK(made);
    made->size = size;
    memcpy(made->data, numbers, (size_t)size * sizeof(int));
    return made;
}

static inline void report(TfLiteContext *context, const char *format, ...) {
    va_list arguments;
    (void)context;
    va_start(arguments, format);
    vsnprintf(said, sizeof said, format, arguments);
    va_end(arguments);
}

static inline int get_plan(TfLiteContext *context, TfLiteIntArray **plan) {
    *plan = ((struct graph *)context->impl)->plan;
    return 0;
}

static inline int get_node(TfLiteContext *context, int number, TfLiteNode **node, TfLiteRegistration **registration) {
    struct graph *graph = context->impl;
    if (number < 0 || number >= graph->plan->size) return 1;
    *node = &graph->nodes[number];
    *registration = &graph->registration;
    return 0;
}

static inline int preview(TfLiteContext *context, const TfLiteIntArray *nodes, TfLiteDelegateParams **params, int *count) {
    *params = &((struct graph *)context->impl)->params;
    *count = nodes->size > 0;
    return 0;
}

static inline int resize(TfLiteContext *context, TfLiteTensor *tensor, TfLiteIntArray *dims) {
    (void)context;
    free(tensor->dims);
    tensor->dims = dims;
    return 0;
}

static inline int replace(TfLiteContext *context, TfLiteRegistration ours, const TfLiteIntArray *nodes,
                          TfLiteDelegate *delegate) {
    struct graph *graph = context->impl;
    CHECK(nodes->size == graph->plan->size && nodes->data[0] == 0);
    graph->params.delegate = delegate;
    graph->ours = ours;
    graph->node.user_data = ours.init(context, (const char *)&graph->params, 0);
    graph->is_taken = 1;
    return 0;
}

static inline void set_tensor(TfLiteTensor *tensor, const char *name, int rows, int columns, void *data, int allocation) {
    const int dimensions[2] = {rows, columns};
    tensor->type = FLOAT32;
    tensor->data = data;
    tensor->dims = list(2, dimensions);
    tensor->allocation_type = allocation;
    tensor->bytes = (size_t)rows * (size_t)columns * sizeof(float);
    tensor->name = name;
}

/* A graph of nodes with one operator, in which only the first tensor is an input and only the last one an output. */
static inline struct graph *make_graph(int operator, int tensors, int nodes) {
    struct graph *graph = calloc(1, sizeof *graph);
    const int first[1] = {0}, last[1] = {tensors - 1};
    CHECK(graph && (graph->tensors = calloc((size_t)tensors, sizeof *graph->tensors)));
    CHECK((graph->nodes = calloc((size_t)nodes, sizeof *graph->nodes)));
    int *numbers = malloc((size_t)nodes * sizeof *numbers);
    CHECK(numbers);
    for (int i = 0; i < nodes; i++) numbers[i] = i;
    graph->registration.builtin_code = operator;
    graph->plan = list(nodes, numbers);
    free(numbers);
    graph->params.nodes_to_replace = graph->plan;
    graph->params.input_tensors = list(1, first);
    graph->params.output_tensors = list(1, last);
    graph->context.tensors_size = (size_t)tensors;
    graph->context.tensors = graph->tensors;
    graph->context.impl = graph;
    graph->context.recommended_num_threads = -1;
    graph->context.GetExecutionPlan = get_plan;
    graph->context.GetNodeAndRegistration = get_node;
    graph->context.ReportError = report;
    graph->context.ResizeTensor = resize;
    graph->context.PreviewDelegatePartitioning = preview;
    graph->context.ReplaceNodeSubsetsWithDelegateKernels = replace;
    return graph;
}

static inline void delegate_graph(struct graph *graph, TfLiteDelegate *delegate) {
    CHECK(!delegate->Prepare(&graph->context, delegate) && graph->is_taken);
    CHECK(!graph->ours.prepare(&graph->context, &graph->node));
}

#endif
