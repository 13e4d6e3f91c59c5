/* Measures calls from C: microseconds of getDeviceCount, and of a burst of the model x + y; minimum over rounds. */
#include <android/NeuralNetworks.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { ROUNDS = 20, CALLS = 20000, RUNS = 2000, COUNT = 12 };

static void ok(int code) {
    if (code) exit(code);
}

static double microseconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e6 + (double)now.tv_nsec / 1e3;
}

int main(void) {
    const uint32_t extents[2] = {3, 4}, inputs[3] = {0, 1, 2}, outputs[1] = {3};
    ANeuralNetworksOperandType tensor = {ANEURALNETWORKS_TENSOR_FLOAT32, 2, extents, 0, 0};
    ANeuralNetworksOperandType scalar = {ANEURALNETWORKS_INT32, 0, NULL, 0, 0};
    const int32_t none = ANEURALNETWORKS_FUSED_NONE;
    float x[COUNT] = {1}, y[COUNT] = {2}, sum[COUNT];
    double counting = 1e9, computing = 1e9;
    ANeuralNetworksModel *model;
    ANeuralNetworksCompilation *compilation;
    ANeuralNetworksBurst *burst;
    ANeuralNetworksExecution *execution;
    uint32_t count;

    ok(ANeuralNetworksModel_create(&model));
    for (int i = 0; i < 4; i++) ok(ANeuralNetworksModel_addOperand(model, i == 2 ? &scalar : &tensor));
    ok(ANeuralNetworksModel_setOperandValue(model, 2, &none, sizeof none));
    ok(ANeuralNetworksModel_addOperation(model, ANEURALNETWORKS_ADD, 3, inputs, 1, outputs));
    ok(ANeuralNetworksModel_identifyInputsAndOutputs(model, 2, inputs, 1, outputs));
    ok(ANeuralNetworksModel_finish(model));
    ok(ANeuralNetworksCompilation_create(model, &compilation));
    ok(ANeuralNetworksCompilation_finish(compilation));
    ok(ANeuralNetworksBurst_create(compilation, &burst));
    ok(ANeuralNetworksExecution_create(compilation, &execution));
    ok(ANeuralNetworksExecution_setReusable(execution, true));
    ok(ANeuralNetworksExecution_setInput(execution, 0, NULL, x, sizeof x));
    ok(ANeuralNetworksExecution_setInput(execution, 1, NULL, y, sizeof y));
    ok(ANeuralNetworksExecution_setOutput(execution, 0, NULL, sum, sizeof sum));
    for (int round = 0; round < ROUNDS; round++) {
        double begin = microseconds();
        for (int i = 0; i < CALLS; i++) ok(ANeuralNetworks_getDeviceCount(&count));
        double middle = microseconds();
        for (int i = 0; i < RUNS; i++) ok(ANeuralNetworksExecution_burstCompute(execution, burst));
        double end = microseconds();
        if ((middle - begin) / CALLS < counting) counting = (middle - begin) / CALLS;
        if ((end - middle) / RUNS < computing) computing = (end - middle) / RUNS;
    }
    printf("{\"count_us\": %.4f, \"burst_us\": %.3f}\n", counting, computing);
    return 0;
}
