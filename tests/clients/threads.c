/* Native threads that Python has never seen: the first calls of the process race, then each builds and runs. */
#include <pthread.h>

#include "client.h"

enum { THREADS = 8, RUNS = 20 };

static void *work(void *shared) {
    float input[COUNT], output[COUNT];
    ANeuralNetworksMemory *constants = weights();
    ANeuralNetworksModel *model = guide_model(constants);
    ANeuralNetworksCompilation *compilation = compiled(model);
    ANeuralNetworksModel_free(model); /* all that is still needed lives on */
    ANeuralNetworksMemory_free(constants);
    for (int i = 0; i < RUNS; i++) {
        ANeuralNetworksExecution *execution = prepared(compilation, input, output);
        ANeuralNetworksEvent *event = NULL;
        OK(ANeuralNetworksExecution_startCompute(execution, &event));
        OK(ANeuralNetworksEvent_wait(event));
        ANeuralNetworksEvent_free(event);
        ANeuralNetworksExecution_free(execution);
        check_output(output);
    }
    ANeuralNetworksCompilation_free(compilation);
    EXPECT(ANEURALNETWORKS_UNEXPECTED_NULL, ANeuralNetworksModel_finish(NULL));
    CHECK(strstr(nnapi_last_error(), "ANeuralNetworksModel_finish"));
    return shared;
}

int main(void) {
    pthread_t threads[THREADS];
    for (int i = 0; i < THREADS; i++) CHECK(!pthread_create(&threads[i], NULL, work, NULL));
    for (int i = 0; i < THREADS; i++) CHECK(!pthread_join(threads[i], NULL));
    CHECK(!*nnapi_last_error()); /* this thread has had no error */
    puts("done");
    return 0;
}
