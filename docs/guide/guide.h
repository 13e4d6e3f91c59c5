/* What the pages of the guide share in C: a check around every call, and the model of the first page. */
#ifndef GUIDE_H
#define GUIDE_H

#include <android/NeuralNetworks.h>
#include <android/sharedmem.h>
#include <android/trace.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define OK(call)                                                                             \
    do {                                                                                     \
        if ((call) != ANEURALNETWORKS_NO_ERROR) {                                            \
            fprintf(stderr, "%s:%d: %s: %s\n", __FILE__, __LINE__, #call, nnapi_last_error()); \
            exit(1);                                                                         \
        }                                                                                    \
    } while (0)

#define CHECK(condition)                                                       \
    do {                                                                       \
        if (!(condition)) {                                                    \
            fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__, #condition); \
            exit(1);                                                           \
        }                                                                      \
    } while (0)

enum { COUNT = 12, BYTES = COUNT * sizeof(float) };

static const float ADDED[COUNT] = {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1};
static const float FACTOR[COUNT] = {2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2};

/* y = (x + 1) * 2 on 3 by 4 floats, call by call as on the first page. */
static inline ANeuralNetworksModel *make_model(void) {
    const uint32_t dimensions[2] = {3, 4};
    const ANeuralNetworksOperandType matrix = {ANEURALNETWORKS_TENSOR_FLOAT32, 2, dimensions, 0, 0};
    const ANeuralNetworksOperandType number = {ANEURALNETWORKS_INT32, 0, NULL, 0, 0};
    const ANeuralNetworksOperandType *types[7] = {&matrix, &matrix, &number, &matrix, &matrix, &number, &matrix};
    const int32_t none = ANEURALNETWORKS_FUSED_NONE;
    const uint32_t added[3] = {1, 0, 2}, sum[1] = {4}, multiplied[3] = {3, 4, 5}, product[1] = {6}, first[1] = {0};
    ANeuralNetworksModel *model = NULL;

    OK(ANeuralNetworksModel_create(&model));
    for (int i = 0; i < 7; i++) OK(ANeuralNetworksModel_addOperand(model, types[i]));
    OK(ANeuralNetworksModel_setOperandValue(model, 1, ADDED, BYTES));
    OK(ANeuralNetworksModel_setOperandValue(model, 2, &none, sizeof none));
    OK(ANeuralNetworksModel_setOperandValue(model, 3, FACTOR, BYTES));
    OK(ANeuralNetworksModel_setOperandValue(model, 5, &none, sizeof none));
    OK(ANeuralNetworksModel_addOperation(model, ANEURALNETWORKS_ADD, 3, added, 1, sum));
    OK(ANeuralNetworksModel_addOperation(model, ANEURALNETWORKS_MUL, 3, multiplied, 1, product));
    OK(ANeuralNetworksModel_identifyInputsAndOutputs(model, 1, first, 1, product));
    OK(ANeuralNetworksModel_finish(model));
    return model;
}

/* That model, compiled for the device of that name. */
static inline ANeuralNetworksCompilation *compile_for(ANeuralNetworksModel *model, const char *wanted) {
    uint32_t count = 0;
    OK(ANeuralNetworks_getDeviceCount(&count));
    for (uint32_t i = 0; i < count; i++) {
        ANeuralNetworksDevice *device = NULL;
        const char *name = NULL;
        ANeuralNetworksCompilation *compilation = NULL;
        OK(ANeuralNetworks_getDevice(i, &device));
        OK(ANeuralNetworksDevice_getName(device, &name));
        if (strcmp(name, wanted)) continue;
        const ANeuralNetworksDevice *devices[1] = {device};
        OK(ANeuralNetworksCompilation_createForDevices(model, devices, 1, &compilation));
        OK(ANeuralNetworksCompilation_finish(compilation));
        return compilation;
    }
    fprintf(stderr, "there is no device %s\n", wanted);
    exit(1);
}

/* Was the output computed from an input of that value everywhere? */
static inline int is_right(const float *y, float x) {
    for (int i = 0; i < COUNT; i++)
        if (y[i] != (x + 1) * 2) return 0;
    return 1;
}

static inline void fill(float *x, float value) {
    for (int i = 0; i < COUNT; i++) x[i] = value;
}

#endif
