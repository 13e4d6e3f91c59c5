/* A program in C with as much of LiteRT as a delegate sees: one graph, y = relu(x), of which the delegate takes the only
 * node, or nothing. argv: the delegate's library. */
#include <dlfcn.h>
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

#include "graph.h"

enum { RELU = 19, ATAN2 = 156, COUNT = 6, THREADS = 4 };

/* y = relu(x) */
static struct graph *make(void) {
    struct graph *graph = make_graph(RELU, 2, 1);
    float *x = calloc(2 * COUNT, sizeof *x);
    CHECK(x);
    set_tensor(&graph->tensors[0], "x", 2, COUNT / 2, x, ARENA);
    set_tensor(&graph->tensors[1], "y", 2, COUNT / 2, x + COUNT, ARENA);
    graph->nodes[0].inputs = graph->params.input_tensors;
    graph->nodes[0].outputs = graph->params.output_tensors;
    return graph;
}

static int run(struct graph *graph) {
    float *x = graph->tensors[0].data;
    for (int i = 0; i < COUNT; i++) x[i] = (float)(i - 3);
    if (graph->ours.invoke(&graph->context, &graph->node)) return 0;
    const float *y = graph->tensors[1].data;
    for (int i = 0; i < COUNT; i++) CHECK(y[i] == (i > 3 ? (float)(i - 3) : 0));
    return 1;
}

static void *use(void *delegate) {
    struct graph *graph = make();
    float elsewhere[COUNT], *y = graph->tensors[1].data;
    delegate_graph(graph, delegate);
    for (int i = 0; i < 3; i++) CHECK(run(graph));
    graph->tensors[1].data = elsewhere; /* LiteRT may move what it likes between two runs */
    CHECK(run(graph));
    graph->tensors[1].data = y;
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
    other->registration.builtin_code = ATAN2; /* NNAPI does not have it */
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
