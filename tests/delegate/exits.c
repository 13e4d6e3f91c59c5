/* A program with LiteRT and the delegate ends in each state: exits STATE DEVICE MILLISECONDS, as tests/clients/exits.c. The
 * graph's constants lie in a mapping, which is unmapped with the interpreter, as LiteRT does with a model's file. */
#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <sys/mman.h>
#include <unistd.h>

#include "graph.h"

enum { FULLY_CONNECTED = 9, STATUS = 7, LAYERS = 6, SIZE = 512, BATCH = 64, THREADS = 4 };
enum { TRIAL = 400000 }; /* microseconds after which a trial has begun */

static const size_t CONSTANTS = (size_t)LAYERS * SIZE * SIZE * sizeof(float);

static TfLiteDelegate *delegate;
static void (*destroy)(TfLiteDelegate *);
static struct graph *graphs[THREADS];
static pthread_t threads[THREADS];
static atomic_int is_stopping;

static void open_delegate(const char *device) {
    const char *keys[] = {"devices"};
    void *library = dlopen("libnnapi_delegate.so", RTLD_NOW);
    CHECK(library);
    create_t create = (create_t)dlsym(library, "tflite_plugin_create_delegate");
    destroy = (void (*)(TfLiteDelegate *))dlsym(library, "tflite_plugin_destroy_delegate");
    delegate = create(keys, &device, strcmp(device, "default") ? 1 : 0, say);
    if (!delegate) fprintf(stderr, "%s\n", said);
    CHECK(delegate);
}

/* Tensors: the input, then weights and a result for each layer. */
static struct graph *make(void) {
    static char parameters[64];
    static const char *const names[3] = {"x", "weights", "y"};
    struct graph *graph = make_graph(FULLY_CONNECTED, 1 + 2 * LAYERS, LAYERS);
    float *weights = mmap(NULL, CONSTANTS, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    float *values = calloc((size_t)(1 + LAYERS) * BATCH * SIZE, sizeof *values);
    CHECK(weights != MAP_FAILED && values);
    for (int i = 0; i < LAYERS * SIZE * SIZE; i++) weights[i] = (float)(i % 100 - 50) / 1000.0f;
    set_tensor(&graph->tensors[0], names[0], BATCH, SIZE, values, ARENA);
    for (int k = 0; k < LAYERS; k++) {
        const int inputs[3] = {2 * k, 2 * k + 1, -1}, outputs[1] = {2 * k + 2};
        set_tensor(&graph->tensors[2 * k + 1], names[1], SIZE, SIZE, weights + k * SIZE * SIZE, CONSTANT);
        set_tensor(&graph->tensors[2 * k + 2], names[2], BATCH, SIZE, values + (k + 1) * BATCH * SIZE, ARENA);
        graph->nodes[k].inputs = list(3, inputs);
        graph->nodes[k].outputs = list(1, outputs);
        graph->nodes[k].builtin_data = parameters;
    }
    delegate_graph(graph, delegate);
    return graph;
}

static int invoke(struct graph *graph) { return !graph->ours.invoke(&graph->context, &graph->node); }

static void free_graph(struct graph *graph) {
    graph->ours.free(&graph->context, graph->node.user_data);
    CHECK(!munmap(graph->tensors[1].data, CONSTANTS));
}

static void run_once(void) {
    graphs[0] = make();
    CHECK(invoke(graphs[0]));
}

static void run_for_a_while(void) {
    run_once();
    for (int i = 0; i < 20; i++) {
        usleep(TRIAL / 20);
        CHECK(invoke(graphs[0]));
    }
}

static void free_first(void) { free_graph(graphs[0]); }

static void free_all(void) {
    free_first();
    destroy(delegate);
}

static void *keep_invoking(void *graph) {
    for (;;) CHECK(invoke(graph));
    return graph;
}

static void *invoke_until_stopped(void *graph) {
    while (!is_stopping && invoke(graph)) continue;
    return graph;
}

static void *end(void *unused) {
    exit(STATUS);
    return unused;
}

static void join_and_free(void) {
    is_stopping = 1;
    for (int i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
        free_graph(graphs[i]);
    }
    destroy(delegate);
}

static void run_threads(void *(*work)(void *)) {
    for (int i = 0; i < THREADS; i++) graphs[i] = make();
    for (int i = 0; i < THREADS; i++) CHECK(!pthread_create(&threads[i], NULL, work, graphs[i]));
}

/* How a state begins. */

static void freed(void) {
    run_for_a_while();
    free_first();
}

static void freed_at_once(void) {
    run_once();
    free_all();
}

static void freed_at_exit(void) {
    run_for_a_while();
    CHECK(!atexit(free_all));
}

static void threads_invoke(void) { run_threads(keep_invoking); }

static void joined_at_exit(void) {
    run_threads(invoke_until_stopped);
    CHECK(!atexit(join_and_free));
}

/* How it ends. */

static void return_from_main(void) {}
static void call_exit(void) { exit(STATUS); }

static void exit_in_thread(void) {
    pthread_t thread;
    CHECK(!pthread_create(&thread, NULL, end, NULL));
    pause();
}

static const struct {
    const char *name;
    void (*begin)(void), (*end)(void);
    int is_inside;
} STATES[] = {
    {"delegate: run", run_once, return_from_main, 0},
    {"delegate: trial", run_for_a_while, return_from_main, 1},
    {"delegate: trial, exit in a thread", run_for_a_while, exit_in_thread, 1},
    {"delegate: trial, freed", freed, return_from_main, 1},
    {"delegate: run, freed", freed_at_once, return_from_main, 0},
    {"delegate: trial, freed at exit", freed_at_exit, call_exit, 1},
    {"delegate: threads", threads_invoke, return_from_main, 1},
    {"delegate: threads, exit", threads_invoke, call_exit, 1},
    {"delegate: threads, exit in a thread", threads_invoke, exit_in_thread, 1},
    {"delegate: threads joined at exit", joined_at_exit, call_exit, 1},
};
enum { COUNT_OF_STATES = sizeof STATES / sizeof *STATES };

int main(int count, char **words) {
    if (count != 4) {
        for (int i = 0; i < COUNT_OF_STATES; i++) printf("%d %d %s\n", STATUS, STATES[i].is_inside, STATES[i].name);
        return count != 1;
    }
    fputs("unflushed", stdout);
    open_delegate(words[2]);
    for (int i = 0; i < COUNT_OF_STATES; i++)
        if (!strcmp(STATES[i].name, words[1])) {
            STATES[i].begin();
            usleep(1000u * (unsigned)atoi(words[3]));
            STATES[i].end();
            return STATUS;
        }
    fprintf(stderr, "there is no state %s\n", words[1]);
    return 99;
}
