/* The four ways to run a model: in the background, waiting, in a burst, fenced; compiled with preference and cache. */
#include "client.h"

int main(int count, char **words) {
    static const uint8_t token[ANEURALNETWORKS_BYTE_SIZE_OF_CACHE_TOKEN] = {1, 2, 3};
    float input[COUNT], output[COUNT];
    ANeuralNetworksExecution *execution;
    ANeuralNetworksCompilation *compilation = NULL;
    ANeuralNetworksEvent *event = NULL, *first = NULL;
    ANeuralNetworksBurst *burst = NULL;
    uint32_t rank = 0, dimensions[2] = {0, 0};
    ANeuralNetworksMemory *constants = weights();
    ANeuralNetworksModel *model = guide_model(constants);

    CHECK(ANeuralNetworks_getRuntimeFeatureLevel() == ANEURALNETWORKS_FEATURE_LEVEL_8);
    OK(ANeuralNetworksCompilation_create(model, &compilation));
    OK(ANeuralNetworksCompilation_setPreference(compilation, ANEURALNETWORKS_PREFER_LOW_POWER));
    OK(ANeuralNetworksCompilation_setPriority(compilation, ANEURALNETWORKS_PRIORITY_HIGH));
    if (count > 1) OK(ANeuralNetworksCompilation_setCaching(compilation, words[1], token));
    OK(ANeuralNetworksCompilation_finish(compilation));

    execution = prepared(compilation, input, output);
    OK(ANeuralNetworksExecution_startCompute(execution, &event));
    OK(ANeuralNetworksEvent_wait(event));
    OK(ANeuralNetworksEvent_wait(event));
    check_output(output);
    OK(ANeuralNetworksExecution_getOutputOperandRank(execution, 0, &rank));
    OK(ANeuralNetworksExecution_getOutputOperandDimensions(execution, 0, dimensions));
    CHECK(rank == 2 && dimensions[0] == ROWS && dimensions[1] == COLUMNS);
    ANeuralNetworksEvent_free(event);
    ANeuralNetworksExecution_free(execution);

    execution = prepared(compilation, input, output);
    OK(ANeuralNetworksExecution_setReusable(execution, true));
    for (int i = 0; i < 3; i++) {
        memset(output, 0, sizeof output);
        OK(ANeuralNetworksExecution_compute(execution));
        check_output(output);
    }
    ANeuralNetworksExecution_free(execution);

    OK(ANeuralNetworksBurst_create(compilation, &burst));
    for (int i = 0; i < 3; i++) {
        execution = prepared(compilation, input, output);
        OK(ANeuralNetworksExecution_burstCompute(execution, burst));
        check_output(output);
        ANeuralNetworksExecution_free(execution);
    }
    ANeuralNetworksBurst_free(burst);

    float second[COUNT];
    execution = prepared(compilation, input, output);
    ANeuralNetworksExecution *after = prepared(compilation, input, second);
    OK(ANeuralNetworksExecution_startComputeWithDependencies(execution, NULL, 0, 0, &first));
    const ANeuralNetworksEvent *dependencies[1] = {first};
    OK(ANeuralNetworksExecution_startComputeWithDependencies(after, dependencies, 1, 0, &event));
    OK(ANeuralNetworksEvent_wait(event));
    OK(ANeuralNetworksEvent_wait(first));
    check_output(output);
    check_output(second);
    int fence = -2;
    if (ANeuralNetworksEvent_getSyncFenceFd(event, &fence) == ANEURALNETWORKS_NO_ERROR) {
        ANeuralNetworksEvent *imported = NULL;
        OK(ANeuralNetworksEvent_createFromSyncFenceFd(fence, &imported));
        close(fence);
        OK(ANeuralNetworksEvent_wait(imported));
        ANeuralNetworksEvent_free(imported);
    } else {
        CHECK(fence == -1);
    }
    ANeuralNetworksEvent_free(first);
    ANeuralNetworksEvent_free(event);
    ANeuralNetworksExecution_free(execution);
    ANeuralNetworksExecution_free(after);

    ANeuralNetworksCompilation_free(compilation);
    ANeuralNetworksModel_free(model);
    ANeuralNetworksMemory_free(constants);
    puts("done");
    return 0;
}
