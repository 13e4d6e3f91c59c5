#ifndef NNAPI_NEURALNETWORKS_H
#define NNAPI_NEURALNETWORKS_H

#include "NeuralNetworksTypes.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Return the feature level of this runtime, a FeatureLevelCode. Since feature level 5. */
int64_t ANeuralNetworks_getRuntimeFeatureLevel(void);

/* Get the number of devices, including the CPU reference. Since feature level 3. */
int ANeuralNetworks_getDeviceCount(uint32_t* numDevices);

/* Get the device at an index. The handle is valid as long as the process and is not freed. Since feature level 3. */
int ANeuralNetworks_getDevice(uint32_t devIndex, ANeuralNetworksDevice** device);

/* Get the name of a device, valid as long as the process. Since feature level 3. */
int ANeuralNetworksDevice_getName(const ANeuralNetworksDevice* device, const char** name);

/* Get the kind of a device, a DeviceTypeCode. Since feature level 3. */
int ANeuralNetworksDevice_getType(const ANeuralNetworksDevice* device, int32_t* type);

/* Get the version of a device's driver, valid as long as the process. Since feature level 3. */
int ANeuralNetworksDevice_getVersion(const ANeuralNetworksDevice* device, const char** version);

/* Get the highest feature level that a device implements, a FeatureLevelCode. Since feature level 3. */
int ANeuralNetworksDevice_getFeatureLevel(const ANeuralNetworksDevice* device, int64_t* featureLevel);

/* Wait until a device is usable. Since feature level 4. */
int ANeuralNetworksDevice_wait(const ANeuralNetworksDevice* device);

/* Return the default time limit of a WHILE in nanoseconds. Since feature level 4. */
uint64_t ANeuralNetworks_getDefaultLoopTimeout(void);

/* Return the largest possible time limit of a WHILE in nanoseconds. Since feature level 4. */
uint64_t ANeuralNetworks_getMaximumLoopTimeout(void);

/* Create a memory that maps part of a file. The descriptor is duplicated; protect combines PROT_READ and PROT_WRITE. Since
   feature level 1. */
int ANeuralNetworksMemory_createFromFd(
    size_t size,
    int protect,
    int fd,
    size_t offset,
    ANeuralNetworksMemory** memory);

/* Create a memory that maps a hardware buffer of format BLOB. Since feature level 3. */
int ANeuralNetworksMemory_createFromAHardwareBuffer(const AHardwareBuffer* ahwb, ANeuralNetworksMemory** memory);

/* Create an opaque memory for the roles of a finished descriptor. Since feature level 4. */
int ANeuralNetworksMemory_createFromDesc(const ANeuralNetworksMemoryDesc* desc, ANeuralNetworksMemory** memory);

/* Copy a whole memory to another one. Since feature level 4. */
int ANeuralNetworksMemory_copy(const ANeuralNetworksMemory* src, const ANeuralNetworksMemory* dst);

/* Free a memory; null does nothing. Since feature level 1. */
void ANeuralNetworksMemory_free(ANeuralNetworksMemory* memory);

/* Create a descriptor of an opaque memory, without roles. Since feature level 4. */
int ANeuralNetworksMemoryDesc_create(ANeuralNetworksMemoryDesc** desc);

/* Add a role: the memory is an input of a compilation, in a share (0, 1] of its executions. Since feature level 4. */
int ANeuralNetworksMemoryDesc_addInputRole(
    ANeuralNetworksMemoryDesc* desc,
    const ANeuralNetworksCompilation* compilation,
    uint32_t index,
    float frequency);

/* Add a role: the memory is an output of a compilation, in a share (0, 1] of its executions. Since feature level 4. */
int ANeuralNetworksMemoryDesc_addOutputRole(
    ANeuralNetworksMemoryDesc* desc,
    const ANeuralNetworksCompilation* compilation,
    uint32_t index,
    float frequency);

/* Specify the dimensions of the memory; 0 is unspecified. Since feature level 4. */
int ANeuralNetworksMemoryDesc_setDimensions(
    ANeuralNetworksMemoryDesc* desc,
    uint32_t rank,
    const uint32_t* dimensions);

/* Finish a descriptor; it cannot change any more. Since feature level 4. */
int ANeuralNetworksMemoryDesc_finish(ANeuralNetworksMemoryDesc* desc);

/* Free a descriptor; null does nothing. Since feature level 4. */
void ANeuralNetworksMemoryDesc_free(ANeuralNetworksMemoryDesc* desc);

/* Create a model without operands. Since feature level 1. */
int ANeuralNetworksModel_create(ANeuralNetworksModel** model);

/* Free a model; null does nothing. Since feature level 1. */
void ANeuralNetworksModel_free(ANeuralNetworksModel* model);

/* Append an operand; its index is the number of operands added before. Since feature level 1. */
int ANeuralNetworksModel_addOperand(ANeuralNetworksModel* model, const ANeuralNetworksOperandType* type);

/* Set the constant value of an operand; null with length 0 omits it. Above 128 bytes, the buffer must stay unchanged until
   finish. Since feature level 1. */
int ANeuralNetworksModel_setOperandValue(
    ANeuralNetworksModel* model,
    int32_t index,
    const void* buffer,
    size_t length);

/* Set the scales of an operand of type TENSOR_QUANT8_SYMM_PER_CHANNEL. Since feature level 3. */
int ANeuralNetworksModel_setOperandSymmPerChannelQuantParams(
    ANeuralNetworksModel* model,
    int32_t index,
    const ANeuralNetworksSymmPerChannelQuantParams* channelQuant);

/* Set the constant value of an operand to part of a memory. Since feature level 1. */
int ANeuralNetworksModel_setOperandValueFromMemory(
    ANeuralNetworksModel* model,
    int32_t index,
    const ANeuralNetworksMemory* memory,
    size_t offset,
    size_t length);

/* Set the value of an operand of type MODEL to a finished model. Since feature level 4. */
int ANeuralNetworksModel_setOperandValueFromModel(
    ANeuralNetworksModel* model,
    int32_t index,
    const ANeuralNetworksModel* value);

/* Append an operation that reads the operands with the indices inputs and writes those with the indices outputs. Since
   feature level 1. */
int ANeuralNetworksModel_addOperation(
    ANeuralNetworksModel* model,
    ANeuralNetworksOperationType type,
    uint32_t inputCount,
    const uint32_t* inputs,
    uint32_t outputCount,
    const uint32_t* outputs);

/* Set the operands that are the model's inputs and outputs. Since feature level 1. */
int ANeuralNetworksModel_identifyInputsAndOutputs(
    ANeuralNetworksModel* model,
    uint32_t inputCount,
    const uint32_t* inputs,
    uint32_t outputCount,
    const uint32_t* outputs);

/* Permit devices to compute float32 with the range and precision of float16. Since feature level 2. */
int ANeuralNetworksModel_relaxComputationFloat32toFloat16(ANeuralNetworksModel* model, bool allow);

/* Check and finish the model; it cannot change any more. Since feature level 1. */
int ANeuralNetworksModel_finish(ANeuralNetworksModel* model);

/* Get for each operation, in the order of adding, whether any of the devices supports it. Since feature level 3. */
int ANeuralNetworksModel_getSupportedOperationsForDevices(
    const ANeuralNetworksModel* model,
    const ANeuralNetworksDevice* const* devices,
    uint32_t numDevices,
    bool* supportedOps);

/* Create a compilation for devices that the runtime chooses. Since feature level 1. */
int ANeuralNetworksCompilation_create(ANeuralNetworksModel* model, ANeuralNetworksCompilation** compilation);

/* Create a compilation for the given devices only. Since feature level 3. */
int ANeuralNetworksCompilation_createForDevices(
    ANeuralNetworksModel* model,
    const ANeuralNetworksDevice* const* devices,
    uint32_t numDevices,
    ANeuralNetworksCompilation** compilation);

/* Free a compilation; null does nothing. Since feature level 1. */
void ANeuralNetworksCompilation_free(ANeuralNetworksCompilation* compilation);

/* Set the goal, a PreferenceCode: low power, a fast single result (the default) or sustained speed. Since feature level
   1. */
int ANeuralNetworksCompilation_setPreference(ANeuralNetworksCompilation* compilation, int32_t preference);

/* Set the priority, a PriorityCode: which compilation runs first if several use a device. Since feature level 4. */
int ANeuralNetworksCompilation_setPriority(ANeuralNetworksCompilation* compilation, int priority);

/* Set the time limit of finish in nanoseconds; 0 for no limit. Since feature level 4. */
int ANeuralNetworksCompilation_setTimeout(ANeuralNetworksCompilation* compilation, uint64_t duration);

/* Cache the compilation in a directory, with a token of ANEURALNETWORKS_BYTE_SIZE_OF_CACHE_TOKEN bytes as the key. Since
   feature level 3. */
int ANeuralNetworksCompilation_setCaching(
    ANeuralNetworksCompilation* compilation,
    const char* cacheDir,
    const uint8_t* token);

/* Divide the model into partitions and prepare them on their devices. Since feature level 1. */
int ANeuralNetworksCompilation_finish(ANeuralNetworksCompilation* compilation);

/* Get the preferred alignment of an input's address in bytes. Since feature level 5. */
int ANeuralNetworksCompilation_getPreferredMemoryAlignmentForInput(
    const ANeuralNetworksCompilation* compilation,
    uint32_t index,
    uint32_t* alignment);

/* Get the number of bytes to a multiple of which an input's length is preferably rounded up. Since feature level 5. */
int ANeuralNetworksCompilation_getPreferredMemoryPaddingForInput(
    const ANeuralNetworksCompilation* compilation,
    uint32_t index,
    uint32_t* padding);

/* Get the preferred alignment of an output's address in bytes. Since feature level 5. */
int ANeuralNetworksCompilation_getPreferredMemoryAlignmentForOutput(
    const ANeuralNetworksCompilation* compilation,
    uint32_t index,
    uint32_t* alignment);

/* Get the number of bytes to a multiple of which an output's length is preferably rounded up. Since feature level 5. */
int ANeuralNetworksCompilation_getPreferredMemoryPaddingForOutput(
    const ANeuralNetworksCompilation* compilation,
    uint32_t index,
    uint32_t* padding);

/* Create an execution of a finished compilation. Since feature level 1. */
int ANeuralNetworksExecution_create(ANeuralNetworksCompilation* compilation, ANeuralNetworksExecution** execution);

/* Free an execution that is not running; null does nothing. Since feature level 1. */
void ANeuralNetworksExecution_free(ANeuralNetworksExecution* execution);

/* Bind a buffer to an input; null with length 0 omits it. A type, if not null, completes the dimensions. Since feature
   level 1. */
int ANeuralNetworksExecution_setInput(
    ANeuralNetworksExecution* execution,
    int32_t index,
    const ANeuralNetworksOperandType* type,
    const void* buffer,
    size_t length);

/* Bind part of a memory to an input. Since feature level 1. */
int ANeuralNetworksExecution_setInputFromMemory(
    ANeuralNetworksExecution* execution,
    int32_t index,
    const ANeuralNetworksOperandType* type,
    const ANeuralNetworksMemory* memory,
    size_t offset,
    size_t length);

/* Bind a buffer to an output; null with length 0 omits it. Since feature level 1. */
int ANeuralNetworksExecution_setOutput(
    ANeuralNetworksExecution* execution,
    int32_t index,
    const ANeuralNetworksOperandType* type,
    void* buffer,
    size_t length);

/* Bind part of a memory to an output. Since feature level 1. */
int ANeuralNetworksExecution_setOutputFromMemory(
    ANeuralNetworksExecution* execution,
    int32_t index,
    const ANeuralNetworksOperandType* type,
    const ANeuralNetworksMemory* memory,
    size_t offset,
    size_t length);

/* Set the time limit of the computation in nanoseconds; 0 for no limit. Since feature level 4. */
int ANeuralNetworksExecution_setTimeout(ANeuralNetworksExecution* execution, uint64_t duration);

/* Set the time limit of each WHILE in nanoseconds. Since feature level 4. */
int ANeuralNetworksExecution_setLoopTimeout(ANeuralNetworksExecution* execution, uint64_t duration);

/* Measure the time of the computation; the compilation must be for exactly one device. Since feature level 3. */
int ANeuralNetworksExecution_setMeasureTiming(ANeuralNetworksExecution* execution, bool measure);

/* Permit several computations with this execution, one after the other. Since feature level 5. */
int ANeuralNetworksExecution_setReusable(ANeuralNetworksExecution* execution, bool reusable);

/* Permit buffers of inputs and outputs that are longer than the values. Since feature level 5. */
int ANeuralNetworksExecution_enableInputAndOutputPadding(ANeuralNetworksExecution* execution, bool enable);

/* Run, and wait for the end. Since feature level 3. */
int ANeuralNetworksExecution_compute(ANeuralNetworksExecution* execution);

/* Run as part of a burst, and wait for the end. Since feature level 3. */
int ANeuralNetworksExecution_burstCompute(ANeuralNetworksExecution* execution, ANeuralNetworksBurst* burst);

/* Run in the background; the event is signaled at the end. Since feature level 1. */
int ANeuralNetworksExecution_startCompute(ANeuralNetworksExecution* execution, ANeuralNetworksEvent** event);

/* Run after other events are signaled, with a time limit in nanoseconds from then on; 0 for no limit. Since feature
   level 4. */
int ANeuralNetworksExecution_startComputeWithDependencies(
    ANeuralNetworksExecution* execution,
    const ANeuralNetworksEvent* const* dependencies,
    uint32_t num_dependencies,
    uint64_t duration,
    ANeuralNetworksEvent** event);

/* Get the rank of an output after a computation. Since feature level 3. */
int ANeuralNetworksExecution_getOutputOperandRank(ANeuralNetworksExecution* execution, int32_t index, uint32_t* rank);

/* Get the dimensions of an output after a computation; the array needs as many elements as the rank. Since feature level
   3. */
int ANeuralNetworksExecution_getOutputOperandDimensions(
    ANeuralNetworksExecution* execution,
    int32_t index,
    uint32_t* dimensions);

/* Get a time of the computation in nanoseconds, selected by a DurationCode; UINT64_MAX if it was not measured. Since
   feature level 3. */
int ANeuralNetworksExecution_getDuration(
    const ANeuralNetworksExecution* execution,
    int32_t durationCode,
    uint64_t* duration);

/* Create a burst, for computations of one compilation in quick succession. Since feature level 3. */
int ANeuralNetworksBurst_create(ANeuralNetworksCompilation* compilation, ANeuralNetworksBurst** burst);

/* Free a burst; null does nothing. Since feature level 3. */
void ANeuralNetworksBurst_free(ANeuralNetworksBurst* burst);

/* Wait for the end of a computation; return its result code. Since feature level 1. */
int ANeuralNetworksEvent_wait(ANeuralNetworksEvent* event);

/* Wait for the end of the computation and free the event; null does nothing. Since feature level 1. */
void ANeuralNetworksEvent_free(ANeuralNetworksEvent* event);

/* Create an event that is signaled when a descriptor becomes readable. The descriptor is duplicated. Since feature level
   4. */
int ANeuralNetworksEvent_createFromSyncFenceFd(int sync_fence_fd, ANeuralNetworksEvent** event);

/* Get a duplicate of an event's descriptor, which the caller closes; -1 if the event has none. Since feature level 4. */
int ANeuralNetworksEvent_getSyncFenceFd(const ANeuralNetworksEvent* event, int* sync_fence_fd);

/* Return the reason of the last failed call of this thread; empty if no call has failed. The text is valid until the
   thread's next failed call. This function is an extension of this library. */
const char* nnapi_last_error(void);

#ifdef __cplusplus
}
#endif

#endif
