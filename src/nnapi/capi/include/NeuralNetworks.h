#ifndef NNAPI_NEURALNETWORKS_H
#define NNAPI_NEURALNETWORKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#include "android/hardware_buffer.h"

/* Type of an operand: ANeuralNetworksOperandType.type, given to ANeuralNetworksModel_addOperand. */
typedef enum {
    ANEURALNETWORKS_FLOAT32 = 0,
    ANEURALNETWORKS_INT32 = 1,
    ANEURALNETWORKS_UINT32 = 2,
    ANEURALNETWORKS_TENSOR_FLOAT32 = 3,
    ANEURALNETWORKS_TENSOR_INT32 = 4,
    ANEURALNETWORKS_TENSOR_QUANT8_ASYMM = 5,
    ANEURALNETWORKS_BOOL = 6,
    ANEURALNETWORKS_TENSOR_QUANT16_SYMM = 7,
    ANEURALNETWORKS_TENSOR_FLOAT16 = 8,
    ANEURALNETWORKS_TENSOR_BOOL8 = 9,
    ANEURALNETWORKS_FLOAT16 = 10,
    ANEURALNETWORKS_TENSOR_QUANT8_SYMM_PER_CHANNEL = 11,
    ANEURALNETWORKS_TENSOR_QUANT16_ASYMM = 12,
    ANEURALNETWORKS_TENSOR_QUANT8_SYMM = 13,
    ANEURALNETWORKS_TENSOR_QUANT8_ASYMM_SIGNED = 14,
    ANEURALNETWORKS_MODEL = 15,
} OperandCode;

/* Codes of operations: the type argument of ANeuralNetworksModel_addOperation. */
typedef enum {
    ANEURALNETWORKS_ADD = 0,
    ANEURALNETWORKS_AVERAGE_POOL_2D = 1,
    ANEURALNETWORKS_CONCATENATION = 2,
    ANEURALNETWORKS_CONV_2D = 3,
    ANEURALNETWORKS_DEPTHWISE_CONV_2D = 4,
    ANEURALNETWORKS_DEPTH_TO_SPACE = 5,
    ANEURALNETWORKS_DEQUANTIZE = 6,
    ANEURALNETWORKS_EMBEDDING_LOOKUP = 7,
    ANEURALNETWORKS_FLOOR = 8,
    ANEURALNETWORKS_FULLY_CONNECTED = 9,
    ANEURALNETWORKS_HASHTABLE_LOOKUP = 10,
    ANEURALNETWORKS_L2_NORMALIZATION = 11,
    ANEURALNETWORKS_L2_POOL_2D = 12,
    ANEURALNETWORKS_LOCAL_RESPONSE_NORMALIZATION = 13,
    ANEURALNETWORKS_LOGISTIC = 14,
    ANEURALNETWORKS_LSH_PROJECTION = 15,
    ANEURALNETWORKS_LSTM = 16,
    ANEURALNETWORKS_MAX_POOL_2D = 17,
    ANEURALNETWORKS_MUL = 18,
    ANEURALNETWORKS_RELU = 19,
    ANEURALNETWORKS_RELU1 = 20,
    ANEURALNETWORKS_RELU6 = 21,
    ANEURALNETWORKS_RESHAPE = 22,
    ANEURALNETWORKS_RESIZE_BILINEAR = 23,
    ANEURALNETWORKS_RNN = 24,
    ANEURALNETWORKS_SOFTMAX = 25,
    ANEURALNETWORKS_SPACE_TO_DEPTH = 26,
    ANEURALNETWORKS_SVDF = 27,
    ANEURALNETWORKS_TANH = 28,
    ANEURALNETWORKS_BATCH_TO_SPACE_ND = 29,
    ANEURALNETWORKS_DIV = 30,
    ANEURALNETWORKS_MEAN = 31,
    ANEURALNETWORKS_PAD = 32,
    ANEURALNETWORKS_SPACE_TO_BATCH_ND = 33,
    ANEURALNETWORKS_SQUEEZE = 34,
    ANEURALNETWORKS_STRIDED_SLICE = 35,
    ANEURALNETWORKS_SUB = 36,
    ANEURALNETWORKS_TRANSPOSE = 37,
    ANEURALNETWORKS_ABS = 38,
    ANEURALNETWORKS_ARGMAX = 39,
    ANEURALNETWORKS_ARGMIN = 40,
    ANEURALNETWORKS_AXIS_ALIGNED_BBOX_TRANSFORM = 41,
    ANEURALNETWORKS_BIDIRECTIONAL_SEQUENCE_LSTM = 42,
    ANEURALNETWORKS_BIDIRECTIONAL_SEQUENCE_RNN = 43,
    ANEURALNETWORKS_BOX_WITH_NMS_LIMIT = 44,
    ANEURALNETWORKS_CAST = 45,
    ANEURALNETWORKS_CHANNEL_SHUFFLE = 46,
    ANEURALNETWORKS_DETECTION_POSTPROCESSING = 47,
    ANEURALNETWORKS_EQUAL = 48,
    ANEURALNETWORKS_EXP = 49,
    ANEURALNETWORKS_EXPAND_DIMS = 50,
    ANEURALNETWORKS_GATHER = 51,
    ANEURALNETWORKS_GENERATE_PROPOSALS = 52,
    ANEURALNETWORKS_GREATER = 53,
    ANEURALNETWORKS_GREATER_EQUAL = 54,
    ANEURALNETWORKS_GROUPED_CONV_2D = 55,
    ANEURALNETWORKS_HEATMAP_MAX_KEYPOINT = 56,
    ANEURALNETWORKS_INSTANCE_NORMALIZATION = 57,
    ANEURALNETWORKS_LESS = 58,
    ANEURALNETWORKS_LESS_EQUAL = 59,
    ANEURALNETWORKS_LOG = 60,
    ANEURALNETWORKS_LOGICAL_AND = 61,
    ANEURALNETWORKS_LOGICAL_NOT = 62,
    ANEURALNETWORKS_LOGICAL_OR = 63,
    ANEURALNETWORKS_LOG_SOFTMAX = 64,
    ANEURALNETWORKS_MAXIMUM = 65,
    ANEURALNETWORKS_MINIMUM = 66,
    ANEURALNETWORKS_NEG = 67,
    ANEURALNETWORKS_NOT_EQUAL = 68,
    ANEURALNETWORKS_PAD_V2 = 69,
    ANEURALNETWORKS_POW = 70,
    ANEURALNETWORKS_PRELU = 71,
    ANEURALNETWORKS_QUANTIZE = 72,
    ANEURALNETWORKS_QUANTIZED_16BIT_LSTM = 73,
    ANEURALNETWORKS_RANDOM_MULTINOMIAL = 74,
    ANEURALNETWORKS_REDUCE_ALL = 75,
    ANEURALNETWORKS_REDUCE_ANY = 76,
    ANEURALNETWORKS_REDUCE_MAX = 77,
    ANEURALNETWORKS_REDUCE_MIN = 78,
    ANEURALNETWORKS_REDUCE_PROD = 79,
    ANEURALNETWORKS_REDUCE_SUM = 80,
    ANEURALNETWORKS_ROI_ALIGN = 81,
    ANEURALNETWORKS_ROI_POOLING = 82,
    ANEURALNETWORKS_RSQRT = 83,
    ANEURALNETWORKS_SELECT = 84,
    ANEURALNETWORKS_SIN = 85,
    ANEURALNETWORKS_SLICE = 86,
    ANEURALNETWORKS_SPLIT = 87,
    ANEURALNETWORKS_SQRT = 88,
    ANEURALNETWORKS_TILE = 89,
    ANEURALNETWORKS_TOPK_V2 = 90,
    ANEURALNETWORKS_TRANSPOSE_CONV_2D = 91,
    ANEURALNETWORKS_UNIDIRECTIONAL_SEQUENCE_LSTM = 92,
    ANEURALNETWORKS_UNIDIRECTIONAL_SEQUENCE_RNN = 93,
    ANEURALNETWORKS_RESIZE_NEAREST_NEIGHBOR = 94,
    ANEURALNETWORKS_QUANTIZED_LSTM = 95,
    ANEURALNETWORKS_IF = 96,
    ANEURALNETWORKS_WHILE = 97,
    ANEURALNETWORKS_ELU = 98,
    ANEURALNETWORKS_HARD_SWISH = 99,
    ANEURALNETWORKS_FILL = 100,
    ANEURALNETWORKS_RANK = 101,
    ANEURALNETWORKS_BATCH_MATMUL = 102,
    ANEURALNETWORKS_PACK = 103,
    ANEURALNETWORKS_MIRROR_PAD = 104,
    ANEURALNETWORKS_REVERSE = 105,
} OperationCode;

/* Activation applied to the result of an operation: the value of its INT32 scalar argument for the activation. */
typedef enum {
    ANEURALNETWORKS_FUSED_NONE = 0,
    ANEURALNETWORKS_FUSED_RELU = 1,
    ANEURALNETWORKS_FUSED_RELU1 = 2,
    ANEURALNETWORKS_FUSED_RELU6 = 3,
} FuseCode;

/* Implicit padding scheme: the value of the INT32 padding argument of convolutions and pools. */
typedef enum {
    ANEURALNETWORKS_PADDING_SAME = 1,
    ANEURALNETWORKS_PADDING_VALID = 2,
} PaddingCode;

/* The goal of an application's executions: ANeuralNetworksCompilation_setPreference. */
typedef enum {
    ANEURALNETWORKS_PREFER_LOW_POWER = 0,
    ANEURALNETWORKS_PREFER_FAST_SINGLE_ANSWER = 1,
    ANEURALNETWORKS_PREFER_SUSTAINED_SPEED = 2,
} PreferenceCode;

/* Kind of hardware behind a device: the result of ANeuralNetworksDevice_getType. */
typedef enum {
    ANEURALNETWORKS_DEVICE_UNKNOWN = 0,
    ANEURALNETWORKS_DEVICE_OTHER = 1,
    ANEURALNETWORKS_DEVICE_CPU = 2,
    ANEURALNETWORKS_DEVICE_GPU = 3,
    ANEURALNETWORKS_DEVICE_ACCELERATOR = 4,
} DeviceTypeCode;

/* Version of the specification. */
typedef enum {
    ANEURALNETWORKS_FEATURE_LEVEL_1 = 27,
    ANEURALNETWORKS_FEATURE_LEVEL_2 = 28,
    ANEURALNETWORKS_FEATURE_LEVEL_3 = 29,
    ANEURALNETWORKS_FEATURE_LEVEL_4 = 30,
    ANEURALNETWORKS_FEATURE_LEVEL_5 = 31,
    ANEURALNETWORKS_FEATURE_LEVEL_6 = 1000006,
    ANEURALNETWORKS_FEATURE_LEVEL_7 = 1000007,
    ANEURALNETWORKS_FEATURE_LEVEL_8 = 1000008,
} FeatureLevelCode;

/* Outcome of a call: the return value of every C function that can fail, and of asynchronous work. */
typedef enum {
    ANEURALNETWORKS_NO_ERROR = 0,
    ANEURALNETWORKS_OUT_OF_MEMORY = 1,
    ANEURALNETWORKS_INCOMPLETE = 2,
    ANEURALNETWORKS_UNEXPECTED_NULL = 3,
    ANEURALNETWORKS_BAD_DATA = 4,
    ANEURALNETWORKS_OP_FAILED = 5,
    ANEURALNETWORKS_BAD_STATE = 6,
    ANEURALNETWORKS_UNMAPPABLE = 7,
    ANEURALNETWORKS_OUTPUT_INSUFFICIENT_SIZE = 8,
    ANEURALNETWORKS_UNAVAILABLE_DEVICE = 9,
    ANEURALNETWORKS_MISSED_DEADLINE_TRANSIENT = 10,
    ANEURALNETWORKS_MISSED_DEADLINE_PERSISTENT = 11,
    ANEURALNETWORKS_RESOURCE_EXHAUSTED_TRANSIENT = 12,
    ANEURALNETWORKS_RESOURCE_EXHAUSTED_PERSISTENT = 13,
    ANEURALNETWORKS_DEAD_OBJECT = 14,
} ResultCode;

/* Times of a measured execution: the durationCode argument of ANeuralNetworksExecution_getDuration. */
typedef enum {
    ANEURALNETWORKS_DURATION_ON_HARDWARE = 0,
    ANEURALNETWORKS_DURATION_IN_DRIVER = 1,
    ANEURALNETWORKS_FENCED_DURATION_ON_HARDWARE = 2,
    ANEURALNETWORKS_FENCED_DURATION_IN_DRIVER = 3,
} DurationCode;

/* Urgency among the compilations of one application: ANeuralNetworksCompilation_setPriority. */
typedef enum {
    ANEURALNETWORKS_PRIORITY_LOW = 90,
    ANEURALNETWORKS_PRIORITY_MEDIUM = 100,
    ANEURALNETWORKS_PRIORITY_HIGH = 110,
    ANEURALNETWORKS_PRIORITY_DEFAULT = 100,
} PriorityCode;

enum {
    ANEURALNETWORKS_MAX_SIZE_OF_IMMEDIATELY_COPIED_VALUES = 128,
    ANEURALNETWORKS_BYTE_SIZE_OF_CACHE_TOKEN = 32,
};

typedef struct ANeuralNetworksBurst ANeuralNetworksBurst;
typedef struct ANeuralNetworksCompilation ANeuralNetworksCompilation;
typedef struct ANeuralNetworksDevice ANeuralNetworksDevice;
typedef struct ANeuralNetworksEvent ANeuralNetworksEvent;
typedef struct ANeuralNetworksExecution ANeuralNetworksExecution;
typedef struct ANeuralNetworksMemory ANeuralNetworksMemory;
typedef struct ANeuralNetworksMemoryDesc ANeuralNetworksMemoryDesc;
typedef struct ANeuralNetworksModel ANeuralNetworksModel;

typedef int32_t ANeuralNetworksOperationType;

/* Type, dimensions and quantization of an operand. dimensions is null if dimensionCount is 0: for scalars and for tensors
   of unspecified rank. A dimension of 0 is unspecified. */
typedef struct ANeuralNetworksOperandType {
    int32_t type;
    uint32_t dimensionCount;
    const uint32_t* dimensions;
    float scale;
    int32_t zeroPoint;
} ANeuralNetworksOperandType;

/* One scale for each index along a dimension. */
typedef struct ANeuralNetworksSymmPerChannelQuantParams {
    uint32_t channelDim;
    uint32_t scaleCount;
    const float* scales;
} ANeuralNetworksSymmPerChannelQuantParams;

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
