/* What the clients share: checks, and the model of the guide: output = (input + a) * b over tensors of 3 by 4. */
#ifndef CLIENT_H
#define CLIENT_H

#include <android/NeuralNetworks.h>
#include <android/sharedmem.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "check.h"

enum { ROWS = 3, COLUMNS = 4, COUNT = ROWS * COLUMNS };

#define EXPECT(code, call)                                                                                    \
    do {                                                                                                      \
        int result_ = (call);                                                                                 \
        if (result_ != (code)) {                                                                              \
            fprintf(stderr, "%s:%d: %d, expected %d: %s (%s)\n", __FILE__, __LINE__, result_, (code), #call,  \
                    nnapi_last_error());                                                                      \
            exit(1);                                                                                          \
        }                                                                                                     \
    } while (0)

#define OK(call) EXPECT(ANEURALNETWORKS_NO_ERROR, call)

static inline float value_of(int i) { return 0.25f * (float)i; }
static inline float a_of(int i) { return 1.0f + (float)i; }
static inline float b_of(int i) { return 2.0f - 0.5f * (float)i; }
static inline float expected(int i) { return (value_of(i) + a_of(i)) * b_of(i); }

static inline void check_output(const float *output) {
    for (int i = 0; i < COUNT; i++) CHECK(fabsf(output[i] - expected(i)) < 1e-5f);
}

static inline void fill_input(float *input) {
    for (int i = 0; i < COUNT; i++) input[i] = value_of(i);
}

static inline ANeuralNetworksOperandType tensor_type(void) {
    static const uint32_t extents[2] = {ROWS, COLUMNS};
    ANeuralNetworksOperandType type = {ANEURALNETWORKS_TENSOR_FLOAT32, 2, extents, 0.0f, 0};
    return type;
}

/* The constants in a memory, as a file of trained weights would hold them. */
static inline ANeuralNetworksMemory *weights(void) {
    ANeuralNetworksMemory *memory = NULL;
    const size_t size = 2 * COUNT * sizeof(float);
    int fd = ASharedMemory_create("weights", size);
    CHECK(fd >= 0 && ASharedMemory_getSize(fd) == size);
    float *data = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    CHECK(data != MAP_FAILED);
    for (int i = 0; i < COUNT; i++) {
        data[i] = a_of(i);
        data[COUNT + i] = b_of(i);
    }
    munmap(data, size);
    OK(ANeuralNetworksMemory_createFromFd(size, PROT_READ, fd, 0, &memory));
    close(fd);
    return memory;
}

/* Seven operands: the input (0), two constants (1, 3), their activations (2, 5), what ADD gives (4), the output (6). */
static inline ANeuralNetworksModel *guide_model(const ANeuralNetworksMemory *constants) {
    ANeuralNetworksModel *model = NULL;
    ANeuralNetworksOperandType tensor = tensor_type();
    ANeuralNetworksOperandType activation = {ANEURALNETWORKS_INT32, 0, NULL, 0.0f, 0};
    const int32_t none = ANEURALNETWORKS_FUSED_NONE;
    const uint32_t add_inputs[3] = {1, 0, 2}, add_outputs[1] = {4};
    const uint32_t mul_inputs[3] = {3, 4, 5}, mul_outputs[1] = {6};
    const uint32_t inputs[1] = {0}, outputs[1] = {6};

    OK(ANeuralNetworksModel_create(&model));
    for (int i = 0; i < 7; i++) OK(ANeuralNetworksModel_addOperand(model, i == 2 || i == 5 ? &activation : &tensor));
    OK(ANeuralNetworksModel_setOperandValueFromMemory(model, 1, constants, 0, COUNT * sizeof(float)));
    OK(ANeuralNetworksModel_setOperandValueFromMemory(model, 3, constants, COUNT * sizeof(float), COUNT * sizeof(float)));
    OK(ANeuralNetworksModel_setOperandValue(model, 2, &none, sizeof none));
    OK(ANeuralNetworksModel_setOperandValue(model, 5, &none, sizeof none));
    OK(ANeuralNetworksModel_addOperation(model, ANEURALNETWORKS_MUL, 3, mul_inputs, 1, mul_outputs));
    OK(ANeuralNetworksModel_addOperation(model, ANEURALNETWORKS_ADD, 3, add_inputs, 1, add_outputs));
    OK(ANeuralNetworksModel_identifyInputsAndOutputs(model, 1, inputs, 1, outputs));
    OK(ANeuralNetworksModel_relaxComputationFloat32toFloat16(model, false));
    OK(ANeuralNetworksModel_finish(model));
    return model;
}

static inline ANeuralNetworksCompilation *compiled(ANeuralNetworksModel *model) {
    ANeuralNetworksCompilation *compilation = NULL;
    OK(ANeuralNetworksCompilation_create(model, &compilation));
    OK(ANeuralNetworksCompilation_finish(compilation));
    return compilation;
}

/* An execution with both buffers bound, the output cleared. */
static inline ANeuralNetworksExecution *prepared(ANeuralNetworksCompilation *compilation, float *input, float *output) {
    ANeuralNetworksExecution *execution = NULL;
    fill_input(input);
    memset(output, 0, COUNT * sizeof(float));
    OK(ANeuralNetworksExecution_create(compilation, &execution));
    OK(ANeuralNetworksExecution_setInput(execution, 0, NULL, input, COUNT * sizeof(float)));
    OK(ANeuralNetworksExecution_setOutput(execution, 0, NULL, output, COUNT * sizeof(float)));
    return execution;
}

#endif
