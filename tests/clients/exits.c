/* Ends in each state of the library: exits STATE DEVICE MILLISECONDS. DEVICE is "default" for the runtime's choice. Without
 * words, it lists the states: exit status or negative signal, whether the library computes at the end, and name. */
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/wait.h>

#include "client.h"

enum { STATUS = 7, LAYERS = 40, SIZE = 28, CHANNELS = 32, THREADS = 4, STARTED = 8 };
enum { PIXELS = SIZE * SIZE * CHANNELS, FILTER = CHANNELS * 9 * CHANNELS };

static const char *device;
static int delay;
static ANeuralNetworksModel *model;
static ANeuralNetworksCompilation *compilation;
static ANeuralNetworksEvent *event;
static float filters[LAYERS][FILTER], bias[CHANNELS], input[PIXELS], outputs[STARTED][PIXELS];
static atomic_int is_stopping;
static pthread_t threads[THREADS];

int __cxa_thread_atexit_impl(void (*)(void *), void *, void *) __attribute__((weak)); /* musl has none */
extern void *__dso_handle;

static void make_model(void) {
    const uint32_t image[4] = {1, SIZE, SIZE, CHANNELS}, filter[4] = {CHANNELS, 3, 3, CHANNELS}, channels[1] = {CHANNELS};
    const ANeuralNetworksOperandType types[4] = {{ANEURALNETWORKS_TENSOR_FLOAT32, 4, image, 0, 0},
                                                 {ANEURALNETWORKS_TENSOR_FLOAT32, 4, filter, 0, 0},
                                                 {ANEURALNETWORKS_TENSOR_FLOAT32, 1, channels, 0, 0},
                                                 {ANEURALNETWORKS_INT32, 0, NULL, 0, 0}};
    const int32_t one = 1, none = ANEURALNETWORKS_FUSED_NONE;
    uint32_t last = 3; /* operands: bias, one, none, the input, then a filter and a result for each layer */
    OK(ANeuralNetworksModel_create(&model));
    OK(ANeuralNetworksModel_addOperand(model, &types[2]));
    OK(ANeuralNetworksModel_addOperand(model, &types[3]));
    OK(ANeuralNetworksModel_addOperand(model, &types[3]));
    OK(ANeuralNetworksModel_addOperand(model, &types[0]));
    OK(ANeuralNetworksModel_setOperandValue(model, 0, bias, sizeof bias));
    OK(ANeuralNetworksModel_setOperandValue(model, 1, &one, sizeof one));
    OK(ANeuralNetworksModel_setOperandValue(model, 2, &none, sizeof none));
    for (uint32_t k = 0; k < LAYERS; k++) {
        const uint32_t result[1] = {5 + 2 * k}, given[7] = {last, 4 + 2 * k, 0, 1, 1, 1, 2};
        for (int i = 0; i < FILTER; i++) filters[k][i] = (float)(i % 100 - 50) / 1000.0f;
        OK(ANeuralNetworksModel_addOperand(model, &types[1]));
        OK(ANeuralNetworksModel_addOperand(model, &types[0]));
        OK(ANeuralNetworksModel_setOperandValue(model, 4 + 2 * k, filters[k], sizeof filters[k]));
        OK(ANeuralNetworksModel_addOperation(model, ANEURALNETWORKS_CONV_2D, 7, given, 1, result));
        last = result[0];
    }
    const uint32_t first[1] = {3}, results[1] = {last};
    OK(ANeuralNetworksModel_identifyInputsAndOutputs(model, 1, first, 1, results));
    OK(ANeuralNetworksModel_finish(model));
}

static ANeuralNetworksDevice *find_device(void) {
    uint32_t count = 0;
    OK(ANeuralNetworks_getDeviceCount(&count));
    for (uint32_t i = 0; i < count; i++) {
        ANeuralNetworksDevice *found = NULL;
        const char *name = NULL;
        OK(ANeuralNetworks_getDevice(i, &found));
        OK(ANeuralNetworksDevice_getName(found, &name));
        if (!strcmp(name, device)) return found;
    }
    fprintf(stderr, "there is no device %s\n", device);
    _exit(90);
}

static void *compile(void *unused) {
    if (strcmp(device, "default")) {
        const ANeuralNetworksDevice *chosen[1] = {find_device()};
        OK(ANeuralNetworksCompilation_createForDevices(model, chosen, 1, &compilation));
    } else {
        OK(ANeuralNetworksCompilation_create(model, &compilation));
    }
    OK(ANeuralNetworksCompilation_finish(compilation));
    return unused;
}

static ANeuralNetworksExecution *execution(int k) {
    ANeuralNetworksExecution *made = NULL;
    OK(ANeuralNetworksExecution_create(compilation, &made));
    OK(ANeuralNetworksExecution_setInput(made, 0, NULL, input, sizeof input));
    OK(ANeuralNetworksExecution_setOutput(made, 0, NULL, outputs[k], sizeof outputs[k]));
    return made;
}

static void compute(int k) {
    ANeuralNetworksExecution *made = execution(k);
    OK(ANeuralNetworksExecution_compute(made));
    ANeuralNetworksExecution_free(made);
}

static void start(int k) { OK(ANeuralNetworksExecution_startCompute(execution(k), &event)); }

static void ready(void) {
    make_model();
    compile(NULL);
}

static void run_thread(void *(*work)(void *)) {
    pthread_t thread;
    CHECK(!pthread_create(&thread, NULL, work, NULL));
    pthread_detach(thread);
}

static void *keep_computing(void *k) {
    for (;;) compute((int)(intptr_t)k);
    return NULL;
}

static void *compute_until_stopped(void *k) {
    int result = 0;
    while (!is_stopping && !result) {
        ANeuralNetworksExecution *made = NULL;
        float *output = outputs[(intptr_t)k];
        result = ANeuralNetworksExecution_create(compilation, &made) ||
                 ANeuralNetworksExecution_setInput(made, 0, NULL, input, sizeof input) ||
                 ANeuralNetworksExecution_setOutput(made, 0, NULL, output, sizeof outputs[0]) ||
                 ANeuralNetworksExecution_compute(made);
        ANeuralNetworksExecution_free(made);
    }
    return NULL;
}

static void *keep_bursting(void *unused) {
    ANeuralNetworksBurst *burst = NULL;
    OK(ANeuralNetworksBurst_create(compilation, &burst));
    for (;;) {
        ANeuralNetworksExecution *made = execution(0);
        OK(ANeuralNetworksExecution_burstCompute(made, burst));
        ANeuralNetworksExecution_free(made);
    }
    return unused;
}

static void *make_first(void *unused) {
    make_model();
    return unused;
}

static void *await_event(void *unused) {
    OK(ANeuralNetworksEvent_wait(event));
    return unused;
}

static void *end(void *unused) {
    exit(STATUS);
    return unused;
}

static void *compute_and_end(void *unused) {
    compute(1);
    exit(STATUS);
    return unused;
}

static void free_all(void) {
    OK(ANeuralNetworksEvent_wait(event));
    ANeuralNetworksEvent_free(event);
    ANeuralNetworksCompilation_free(compilation);
    ANeuralNetworksModel_free(model);
}

static void free_at_thread_end(void *unused) {
    (void)unused;
    free_all();
}

static void compute_at_exit(void) { compute(1); }

static void join_threads(void) {
    is_stopping = 1;
    for (int i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);
}

static void end_in_handler(int signal) {
    (void)signal;
    exit(STATUS);
}

static void leave_in_handler(int signal) {
    (void)signal;
    _exit(STATUS);
}

/* How a state begins. */

static void nothing(void) {}

static void was_run(void) {
    ready();
    compute(0);
}

static void started(void) {
    ready();
    start(0);
}

static void started_several(void) {
    ready();
    for (int k = 0; k < STARTED; k++) start(k);
}

static void started_fenced(void) {
    ready();
    OK(ANeuralNetworksExecution_startComputeWithDependencies(execution(0), NULL, 0, 0, &event));
}

static void freed(void) {
    started();
    ANeuralNetworksCompilation_free(compilation);
    ANeuralNetworksModel_free(model);
}

static void waited_for(void) {
    started();
    run_thread(await_event);
}

static void first_called(void) { run_thread(make_first); }

static void compiled_in_thread(void) {
    make_model();
    run_thread(compile);
}

static void run_threads(void *(*work)(void *)) {
    ready();
    for (intptr_t k = 0; k < THREADS; k++) CHECK(!pthread_create(&threads[k], NULL, work, (void *)k));
}

static void computed_in_threads(void) { run_threads(keep_computing); }

static void joined_at_exit(void) {
    run_threads(compute_until_stopped);
    CHECK(!atexit(join_threads));
}

static void run_in_burst(void) {
    ready();
    run_thread(keep_bursting);
}

static void freed_at_exit(void) {
    started();
    CHECK(!atexit(free_all));
}

static void computed_at_exit(void) {
    started();
    CHECK(!atexit(compute_at_exit));
}

static void freed_at_thread_end(void) {
    started();
    CHECK(!__cxa_thread_atexit_impl(free_at_thread_end, NULL, &__dso_handle));
}

static void streams_closed(void) {
    started();
    fclose(stdin);
    fclose(stdout);
    fclose(stderr);
}

/* How it ends. */

static void return_from_main(void) {}
static void call_exit(void) { exit(STATUS); }
static void leave(void) { _exit(STATUS); }
static void call_quick_exit(void) { quick_exit(STATUS); }
static void raise_sigterm(void) { raise(SIGTERM); }
static void execute(void) { execl("/bin/sh", "sh", "-c", "exit 7", (char *)NULL); }

static void exit_in_thread(void) {
    run_thread(end);
    pause();
}

static void exit_twice(void) {
    run_thread(end);
    exit(STATUS);
}

static void end_main_thread(void) {
    run_thread(compute_and_end);
    pthread_exit(NULL);
}

static void end_by_handler(void (*handler)(int)) {
    signal(SIGALRM, handler);
    ualarm(1000u * (unsigned)delay + 1, 0);
    keep_computing(NULL);
}

static void exit_in_handler(void) { end_by_handler(end_in_handler); }
static void leave_by_handler(void) { end_by_handler(leave_in_handler); }
static void call_system(void) { CHECK(WEXITSTATUS(system("exit 5")) == 5); }

/* Runs `child` in a forked child, whose end must be that status; then waits for the computation. */
static void fork_and(void (*child)(void), int expected) {
    int status = 0;
    fflush(NULL);
    pid_t forked = fork();
    CHECK(forked >= 0);
    if (!forked) {
        child();
        _exit(91);
    }
    CHECK(waitpid(forked, &status, 0) == forked);
    CHECK((WIFSIGNALED(status) ? -WTERMSIG(status) : WEXITSTATUS(status)) == expected);
    OK(ANeuralNetworksEvent_wait(event));
}

static void call_and_exit(void) {
    uint32_t count = 0;
    exit(ANeuralNetworks_getDeviceCount(&count) ? STATUS : 4);
}

static void free_and_exit(void) {
    ANeuralNetworksEvent_free(event);
    ANeuralNetworksCompilation_free(compilation);
    ANeuralNetworksModel_free(model);
    exit(STATUS);
}

static void fork_exit(void) { fork_and(call_exit, STATUS); }
static void fork_leave(void) { fork_and(leave, STATUS); }
static void fork_abort(void) { fork_and(abort, -SIGABRT); }
static void fork_exec(void) { fork_and(execute, STATUS); }
static void fork_call(void) { fork_and(call_and_exit, STATUS); }
static void fork_free(void) { fork_and(free_and_exit, STATUS); }

static const struct {
    const char *name;
    void (*begin)(void), (*end)(void);
    int status, is_inside;
} STATES[] = {
    {"loaded", nothing, return_from_main, STATUS, 0},
    {"idle", was_run, return_from_main, STATUS, 0},
    {"idle, exit in a thread", was_run, exit_in_thread, STATUS, 0},
    {"start", started, return_from_main, STATUS, 1},
    {"start, exit", started, call_exit, STATUS, 1},
    {"start, exit in a thread", started, exit_in_thread, STATUS, 1},
    {"start, exit twice", started, exit_twice, STATUS, 1},
    {"start, end of the main thread", started, end_main_thread, STATUS, 1},
    {"start, abort", started, abort, -SIGABRT, 1},
    {"start, _exit", started, leave, STATUS, 1},
    {"start, quick_exit", started, call_quick_exit, STATUS, 1},
    {"start, SIGTERM", started, raise_sigterm, -SIGTERM, 1},
    {"start, exec", started, execute, STATUS, 1},
    {"start, system", started, call_system, STATUS, 1},
    {"start, fork, exit", started, fork_exit, STATUS, 1},
    {"start, fork, _exit", started, fork_leave, STATUS, 1},
    {"start, fork, abort", started, fork_abort, STATUS, 1},
    {"start, fork, exec", started, fork_exec, STATUS, 1},
    {"start, fork, call", started, fork_call, STATUS, 1},
    {"start, fork, free", started, fork_free, STATUS, 1},
    {"several starts", started_several, return_from_main, STATUS, 1},
    {"fenced start", started_fenced, return_from_main, STATUS, 1},
    {"wait in a thread", waited_for, call_exit, STATUS, 1},
    {"freed", freed, return_from_main, STATUS, 1},
    {"freed at exit", freed_at_exit, return_from_main, STATUS, 1},
    {"freed at the thread's end", freed_at_thread_end, return_from_main, STATUS, 1},
    {"compute at exit", computed_at_exit, call_exit, STATUS, 1},
    {"streams closed", streams_closed, return_from_main, STATUS, 1},
    {"first call", first_called, return_from_main, STATUS, 1},
    {"compiling", compiled_in_thread, return_from_main, STATUS, 1},
    {"threads compute", computed_in_threads, return_from_main, STATUS, 1},
    {"threads compute, exit", computed_in_threads, call_exit, STATUS, 1},
    {"threads compute, exit in a thread", computed_in_threads, exit_in_thread, STATUS, 1},
    {"threads joined at exit", joined_at_exit, call_exit, STATUS, 1},
    {"burst", run_in_burst, return_from_main, STATUS, 1},
    {"compute, exit in a handler", ready, exit_in_handler, STATUS, 1},
    {"compute, _exit in a handler", ready, leave_by_handler, STATUS, 1},
};
enum { COUNT_OF_STATES = sizeof STATES / sizeof *STATES };

int main(int count, char **words) {
    if (count != 4) {
        for (int i = 0; i < COUNT_OF_STATES; i++)
            if (STATES[i].begin != freed_at_thread_end || __cxa_thread_atexit_impl)
                printf("%d %d %s\n", STATES[i].status, STATES[i].is_inside, STATES[i].name);
        return count != 1;
    }
    device = words[2];
    delay = atoi(words[3]);
    fputs("unflushed", stdout);
    for (int i = 0; i < COUNT_OF_STATES; i++)
        if (!strcmp(STATES[i].name, words[1])) {
            STATES[i].begin();
            usleep(1000u * (unsigned)delay);
            STATES[i].end();
            return STATUS;
        }
    fprintf(stderr, "there is no state %s\n", words[1]);
    return 99;
}
