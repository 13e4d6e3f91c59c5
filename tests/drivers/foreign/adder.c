/* An NNAPI library whose device adds 1 to the floats of the first input, whatever the model. It reads all that it is
   given, from the first byte to the last, so that a sanitizer sees what has gone. */

#include <stdlib.h>
#include <string.h>

#include "NeuralNetworks.h"

struct value { const uint8_t *start; size_t size; };
struct ANeuralNetworksModel { struct value values[256]; uint32_t operands, operations, finished; const ANeuralNetworksModel *inner; };
struct ANeuralNetworksCompilation { ANeuralNetworksModel *model; };
struct ANeuralNetworksBurst { const ANeuralNetworksCompilation *compilation; };
struct ANeuralNetworksExecution {
    const ANeuralNetworksCompilation *compilation;
    struct value inputs[16];
    struct { uint8_t *start; size_t size; } outputs[16];
};

static volatile uint8_t sum;
static int device;

static void touch(struct value value) {
    for (size_t i = 0; i < value.size; i++) sum ^= value.start[i];
}

static void read_model(const ANeuralNetworksModel *model) {
    for (uint32_t i = 0; i < 256; i++) touch(model->values[i]);
    if (model->inner) read_model(model->inner);
}

static void read_indices(uint32_t count, const uint32_t *indices) {
    touch((struct value){(const uint8_t *)indices, count * sizeof *indices});
}

int ANeuralNetworks_getDeviceCount(uint32_t *count) { return *count = 1, 0; }
int ANeuralNetworks_getDevice(uint32_t index, ANeuralNetworksDevice **found) { return *found = (void *)&device, index != 0; }
int ANeuralNetworksDevice_getName(const ANeuralNetworksDevice *d, const char **name) { return *name = "adder", 0; }
int ANeuralNetworksDevice_getVersion(const ANeuralNetworksDevice *d, const char **text) { return *text = "1", 0; }
int ANeuralNetworksDevice_getType(const ANeuralNetworksDevice *d, int32_t *type) { return *type = 4, 0; }
int ANeuralNetworksDevice_getFeatureLevel(const ANeuralNetworksDevice *d, int64_t *level) { return *level = 1000008, 0; }

int ANeuralNetworksModel_create(ANeuralNetworksModel **model) { return *model = calloc(1, sizeof **model), 0; }
void ANeuralNetworksModel_free(ANeuralNetworksModel *model) { free(model); }
int ANeuralNetworksModel_addOperand(ANeuralNetworksModel *model, const ANeuralNetworksOperandType *type) {
    read_indices(type->dimensionCount, type->dimensions);
    return ++model->operands > 256 ? 4 : 0;
}
int ANeuralNetworksModel_setOperandValue(ANeuralNetworksModel *model, int32_t index, const void *value, size_t size) {
    if (index < 0 || (uint32_t)index >= model->operands) return 4;
    if (value) model->values[index] = (struct value){value, size};
    return 0;
}
int ANeuralNetworksModel_setOperandValueFromModel(ANeuralNetworksModel *model, int32_t i, const ANeuralNetworksModel *inner) {
    return model->inner = inner, inner->finished ? 0 : 6;
}
int ANeuralNetworksModel_setOperandSymmPerChannelQuantParams(
    ANeuralNetworksModel *model, int32_t index, const ANeuralNetworksSymmPerChannelQuantParams *channel) {
    return touch((struct value){(const uint8_t *)channel->scales, channel->scaleCount * sizeof(float)}), 0;
}
int ANeuralNetworksModel_addOperation(ANeuralNetworksModel *model, ANeuralNetworksOperationType type, uint32_t in,
                                      const uint32_t *inputs, uint32_t out, const uint32_t *outputs) {
    read_indices(in, inputs), read_indices(out, outputs);
    return model->operations++, 0;
}
int ANeuralNetworksModel_identifyInputsAndOutputs(ANeuralNetworksModel *model, uint32_t in, const uint32_t *inputs,
                                                  uint32_t out, const uint32_t *outputs) {
    return read_indices(in, inputs), read_indices(out, outputs), in > 16 || out > 16 ? 4 : 0;
}
int ANeuralNetworksModel_relaxComputationFloat32toFloat16(ANeuralNetworksModel *model, bool allow) { return 0; }
int ANeuralNetworksModel_finish(ANeuralNetworksModel *model) { return read_model(model), model->finished = 1, 0; }
int ANeuralNetworksModel_getSupportedOperationsForDevices(
    const ANeuralNetworksModel *model, const ANeuralNetworksDevice *const *devices, uint32_t count, bool *takes) {
    read_model(model);
    return memset(takes, true, model->operations), 0;
}
int ANeuralNetworksCompilation_createForDevices(ANeuralNetworksModel *model, const ANeuralNetworksDevice *const *devices,
                                                uint32_t count, ANeuralNetworksCompilation **made) {
    *made = calloc(1, sizeof **made);
    return (*made)->model = model, 0;
}
void ANeuralNetworksCompilation_free(ANeuralNetworksCompilation *compilation) {
    if (compilation) read_model(compilation->model);
    free(compilation);
}
int ANeuralNetworksCompilation_setPreference(ANeuralNetworksCompilation *compilation, int32_t preference) { return 0; }
int ANeuralNetworksCompilation_setPriority(ANeuralNetworksCompilation *compilation, int priority) { return 0; }
int ANeuralNetworksCompilation_setTimeout(ANeuralNetworksCompilation *compilation, uint64_t duration) { return 0; }
int ANeuralNetworksCompilation_setCaching(ANeuralNetworksCompilation *c, const char *folder, const uint8_t *token) {
    return touch((struct value){token, 32}), 0;
}
int ANeuralNetworksCompilation_finish(ANeuralNetworksCompilation *compilation) {
    return read_model(compilation->model), 0;
}
int ANeuralNetworksBurst_create(ANeuralNetworksCompilation *compilation, ANeuralNetworksBurst **burst) {
    *burst = calloc(1, sizeof **burst);
    return (*burst)->compilation = compilation, 0;
}
void ANeuralNetworksBurst_free(ANeuralNetworksBurst *burst) { free(burst); }
int ANeuralNetworksExecution_create(ANeuralNetworksCompilation *compilation, ANeuralNetworksExecution **execution) {
    *execution = calloc(1, sizeof **execution);
    return (*execution)->compilation = compilation, 0;
}
void ANeuralNetworksExecution_free(ANeuralNetworksExecution *execution) { free(execution); }
int ANeuralNetworksExecution_setInput(ANeuralNetworksExecution *execution, int32_t index,
                                      const ANeuralNetworksOperandType *type, const void *value, size_t size) {
    if (type) read_indices(type->dimensionCount, type->dimensions);
    return execution->inputs[index] = (struct value){value, value ? size : 0}, 0;
}
int ANeuralNetworksExecution_setOutput(ANeuralNetworksExecution *execution, int32_t index,
                                       const ANeuralNetworksOperandType *type, void *value, size_t size) {
    return execution->outputs[index].start = value, execution->outputs[index].size = size, 0;
}
int ANeuralNetworksExecution_setTimeout(ANeuralNetworksExecution *execution, uint64_t duration) { return 0; }
int ANeuralNetworksExecution_setLoopTimeout(ANeuralNetworksExecution *execution, uint64_t duration) { return 0; }
int ANeuralNetworksExecution_setReusable(ANeuralNetworksExecution *execution, bool reusable) { return 0; }
int ANeuralNetworksExecution_setMeasureTiming(ANeuralNetworksExecution *execution, bool measure) { return 0; }
int ANeuralNetworksExecution_getDuration(const ANeuralNetworksExecution *e, int32_t which, uint64_t *duration) {
    return *duration = 1000, 0;
}
int ANeuralNetworksExecution_compute(ANeuralNetworksExecution *execution) {
    read_model(execution->compilation->model);
    for (int i = 0; i < 16; i++) {
        touch(execution->inputs[i]);
        if (execution->outputs[i].size) memset(execution->outputs[i].start, 0, execution->outputs[i].size);
    }
    struct value given = execution->inputs[0];
    for (size_t at = 0; at + sizeof(float) <= execution->outputs[0].size && at + sizeof(float) <= given.size; at += sizeof(float)) {
        float number;
        memcpy(&number, given.start + at, sizeof number);
        number += 1;
        memcpy(execution->outputs[0].start + at, &number, sizeof number);
    }
    return 0;
}
int ANeuralNetworksExecution_burstCompute(ANeuralNetworksExecution *execution, ANeuralNetworksBurst *burst) {
    return burst->compilation == execution->compilation ? ANeuralNetworksExecution_compute(execution) : 4;
}
int ANeuralNetworksExecution_getOutputOperandRank(ANeuralNetworksExecution *execution, int32_t index, uint32_t *rank) {
    return *rank = 1, 0;
}
int ANeuralNetworksExecution_getOutputOperandDimensions(ANeuralNetworksExecution *e, int32_t index, uint32_t *dimensions) {
    return *dimensions = e->outputs[index].size / sizeof(float), 0;
}
