#ifndef NNAPI_NEURALNETWORKSSUPPORTLIBRARYIMPL_H
#define NNAPI_NEURALNETWORKSSUPPORTLIBRARYIMPL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#include "NeuralNetworks.h"
#include "NeuralNetworksExtensions.h"

/* Time and energy of a device as a fraction of the CPU's. */
typedef struct {
    float execTime;
    float powerUsage;
} SL_ANeuralNetworksPerformanceInfo;

typedef struct {
    int32_t operandType;
    SL_ANeuralNetworksPerformanceInfo performanceInfo;
} SL_ANeuralNetworksOperandPerformanceInfo;

typedef struct {
    uint32_t byteSize;
    uint16_t type;
    bool isTensor;
} SL_ANeuralNetworksExtensionOperandTypeInformation;

typedef enum {
    SL_ANEURALNETWORKS_CAPABILITIES_PERFORMANCE_RELAXED_SCALAR = 0,
    SL_ANEURALNETWORKS_CAPABILITIES_PERFORMANCE_RELAXED_TENSOR = 1,
    SL_ANEURALNETWORKS_CAPABILITIES_PERFORMANCE_IF = 2,
    SL_ANEURALNETWORKS_CAPABILITIES_PERFORMANCE_WHILE = 3,
} SL_ANeuralNetworksPerformanceInfoCode;

typedef void (*SL_NnapiOperandPerformanceCallback)(SL_ANeuralNetworksOperandPerformanceInfo, void*);
typedef void (*SL_NnapiExtensionTypeCallback)(SL_ANeuralNetworksExtensionOperandTypeInformation, void*);

typedef enum {
    ANNDIAG_DATA_CLASS_UNKNOWN = 0,
    ANNDIAG_DATA_CLASS_OTHER = 1,
    ANNDIAG_DATA_CLASS_FLOAT32 = 2,
    ANNDIAG_DATA_CLASS_FLOAT16 = 3,
    ANNDIAG_DATA_CLASS_QUANT = 4,
    ANNDIAG_DATA_CLASS_MIXED = 5,
} ANeuralNetworksDiagnosticDataClass;

typedef enum {
    ANNDIAG_EXECUTION_MODE_UNKNOWN = 0,
    ANNDIAG_EXECUTION_MODE_ASYNC = 1,
    ANNDIAG_EXECUTION_MODE_SYNC = 2,
    ANNDIAG_EXECUTION_MODE_BURST = 3,
    ANNDIAG_EXECUTION_MODE_ASYNC_WITH_DEPS = 4,
} ANeuralNetworksDiagnosticExecutionMode;

/* Describe a compilation or a computation; valid while a callback runs. */
typedef struct ANeuralNetworksDiagnosticCompilationInfo ANeuralNetworksDiagnosticCompilationInfo;
typedef struct ANeuralNetworksDiagnosticExecutionInfo ANeuralNetworksDiagnosticExecutionInfo;

typedef void (*ANeuralNetworksDiagnosticCompilationFinishedCallback)(
    const void* context, const ANeuralNetworksDiagnosticCompilationInfo* info);
typedef void (*ANeuralNetworksDiagnosticExecutionFinishedCallback)(
    const void* context, const ANeuralNetworksDiagnosticExecutionInfo* info);

/* Set open files as the cache; their number must be that of getNumberOfCacheFilesNeeded, which is 0. */
int SL_ANeuralNetworksCompilation_setCachingFromFds(
    ANeuralNetworksCompilation* compilation,
    const int* modelCacheFds,
    const uint32_t numModelCacheFiles,
    const int* dataCacheFds,
    const uint32_t numDataCacheFiles,
    const uint8_t* token);

/* Get the number of open files that a device needs for its cache: 0, because it caches in a directory. */
int SL_ANeuralNetworksDevice_getNumberOfCacheFilesNeeded(
    const ANeuralNetworksDevice* device,
    uint32_t* numModelCacheFiles,
    uint32_t* numDataCacheFiles);

/* Get the performance of a device for control flow or relaxed precision, selected by a
   SL_ANeuralNetworksPerformanceInfoCode. */
int SL_ANeuralNetworksDevice_getPerformanceInfo(
    const ANeuralNetworksDevice* device,
    int32_t performanceInfoKind,
    SL_ANeuralNetworksPerformanceInfo* performanceInfo);

/* Call back with the performance of a device for each type of operand. */
int SL_ANeuralNetworksDevice_forEachOperandPerformanceInfo(
    const ANeuralNetworksDevice* device,
    void* context,
    SL_NnapiOperandPerformanceCallback callback);

/* Get the number of extensions that a device supports. */
int SL_ANeuralNetworksDevice_getVendorExtensionCount(
    const ANeuralNetworksDevice* device,
    uint32_t* vendorExtensionCount);

/* Get the name of an extension, valid as long as the process. */
int SL_ANeuralNetworksDevice_getVendorExtensionName(
    const ANeuralNetworksDevice* device,
    uint32_t vendorExtensionIndex,
    const char** extensionName);

/* Call back with each operand type of an extension. */
int SL_ANeuralNetworksDevice_forEachVendorExtensionOperandTypeInformation(
    const ANeuralNetworksDevice* device,
    uint32_t vendorExtensionIndex,
    void* context,
    SL_NnapiExtensionTypeCallback callback);

/* Return a number that identifies this process. */
int32_t SL_ANeuralNetworksDiagnosticCompilationInfo_getSessionId(
    const ANeuralNetworksDiagnosticCompilationInfo* diagnosticCompilationInfo);

/* Return the feature level of the runtime. */
int64_t SL_ANeuralNetworksDiagnosticCompilationInfo_getNnApiVersion(
    const ANeuralNetworksDiagnosticCompilationInfo* diagnosticCompilationInfo);

/* Return 32 bytes that depend on the model's structure, not on its weights. */
const uint8_t* SL_ANeuralNetworksDiagnosticCompilationInfo_getModelArchHash(
    const ANeuralNetworksDiagnosticCompilationInfo* diagnosticCompilationInfo);

/* Return the devices that compute, as a comma-separated list of name=version. */
const char* SL_ANeuralNetworksDiagnosticCompilationInfo_getDeviceIds(
    const ANeuralNetworksDiagnosticCompilationInfo* diagnosticCompilationInfo);

/* Return the result code. */
int32_t SL_ANeuralNetworksDiagnosticCompilationInfo_getErrorCode(
    const ANeuralNetworksDiagnosticCompilationInfo* diagnosticCompilationInfo);

/* Return the data class of the inputs. */
ANeuralNetworksDiagnosticDataClass SL_ANeuralNetworksDiagnosticCompilationInfo_getInputDataClass(
    const ANeuralNetworksDiagnosticCompilationInfo* diagnosticCompilationInfo);

/* Return the data class of the outputs. */
ANeuralNetworksDiagnosticDataClass SL_ANeuralNetworksDiagnosticCompilationInfo_getOutputDataClass(
    const ANeuralNetworksDiagnosticCompilationInfo* diagnosticCompilationInfo);

/* Return the nanoseconds that the compilation took; UINT64_MAX if it failed. */
uint64_t SL_ANeuralNetworksDiagnosticCompilationInfo_getCompilationTimeNanos(
    const ANeuralNetworksDiagnosticCompilationInfo* diagnosticCompilationInfo);

/* Return whether the compilation has a cache. */
bool SL_ANeuralNetworksDiagnosticCompilationInfo_isCachingEnabled(
    const ANeuralNetworksDiagnosticCompilationInfo* diagnosticCompilationInfo);

/* Return whether the model contains an IF or a WHILE. */
bool SL_ANeuralNetworksDiagnosticCompilationInfo_isControlFlowUsed(
    const ANeuralNetworksDiagnosticCompilationInfo* diagnosticCompilationInfo);

/* Return whether the model has temporary tensors with dynamic dimensions. */
bool SL_ANeuralNetworksDiagnosticCompilationInfo_areDynamicTensorsUsed(
    const ANeuralNetworksDiagnosticCompilationInfo* diagnosticCompilationInfo);

/* Return a number that identifies this process. */
int32_t SL_ANeuralNetworksDiagnosticExecutionInfo_getSessionId(
    const ANeuralNetworksDiagnosticExecutionInfo* diagnosticExecutionInfo);

/* Return the feature level of the runtime. */
int64_t SL_ANeuralNetworksDiagnosticExecutionInfo_getNnApiVersion(
    const ANeuralNetworksDiagnosticExecutionInfo* diagnosticExecutionInfo);

/* Return 32 bytes that depend on the model's structure, not on its weights. */
const uint8_t* SL_ANeuralNetworksDiagnosticExecutionInfo_getModelArchHash(
    const ANeuralNetworksDiagnosticExecutionInfo* diagnosticExecutionInfo);

/* Return the devices that compute, as a comma-separated list of name=version. */
const char* SL_ANeuralNetworksDiagnosticExecutionInfo_getDeviceIds(
    const ANeuralNetworksDiagnosticExecutionInfo* diagnosticExecutionInfo);

/* Return how the computation was started: asynchronously, synchronously, in a burst or with dependencies. */
ANeuralNetworksDiagnosticExecutionMode SL_ANeuralNetworksDiagnosticExecutionInfo_getExecutionMode(
    const ANeuralNetworksDiagnosticExecutionInfo* diagnosticExecutionInfo);

/* Return the data class of the inputs. */
ANeuralNetworksDiagnosticDataClass SL_ANeuralNetworksDiagnosticExecutionInfo_getInputDataClass(
    const ANeuralNetworksDiagnosticExecutionInfo* diagnosticExecutionInfo);

/* Return the data class of the outputs. */
ANeuralNetworksDiagnosticDataClass SL_ANeuralNetworksDiagnosticExecutionInfo_getOutputDataClass(
    const ANeuralNetworksDiagnosticExecutionInfo* diagnosticExecutionInfo);

/* Return the result code. */
uint32_t SL_ANeuralNetworksDiagnosticExecutionInfo_getErrorCode(
    const ANeuralNetworksDiagnosticExecutionInfo* diagnosticExecutionInfo);

/* Return the nanoseconds from start to end; UINT64_MAX if the computation failed. */
uint64_t SL_ANeuralNetworksDiagnosticExecutionInfo_getRuntimeExecutionTimeNanos(
    const ANeuralNetworksDiagnosticExecutionInfo* diagnosticExecutionInfo);

/* Return the nanoseconds within the driver; UINT64_MAX if they were not measured. */
uint64_t SL_ANeuralNetworksDiagnosticExecutionInfo_getDriverExecutionTimeNanos(
    const ANeuralNetworksDiagnosticExecutionInfo* diagnosticExecutionInfo);

/* Return the nanoseconds on the device; UINT64_MAX if they were not measured. */
uint64_t SL_ANeuralNetworksDiagnosticExecutionInfo_getHardwareExecutionTimeNanos(
    const ANeuralNetworksDiagnosticExecutionInfo* diagnosticExecutionInfo);

/* Return whether the compilation has a cache. */
bool SL_ANeuralNetworksDiagnosticExecutionInfo_isCachingEnabled(
    const ANeuralNetworksDiagnosticExecutionInfo* diagnosticExecutionInfo);

/* Return whether the model contains an IF or a WHILE. */
bool SL_ANeuralNetworksDiagnosticExecutionInfo_isControlFlowUsed(
    const ANeuralNetworksDiagnosticExecutionInfo* diagnosticExecutionInfo);

/* Return whether the model has temporary tensors with dynamic dimensions. */
bool SL_ANeuralNetworksDiagnosticExecutionInfo_areDynamicTensorsUsed(
    const ANeuralNetworksDiagnosticExecutionInfo* diagnosticExecutionInfo);

/* From now on, call back with a description of each compilation or computation that finishes. The description is valid
   during the callback. Either callback may be null. */
void SL_ANeuralNetworksDiagnostic_registerCallbacks(
    ANeuralNetworksDiagnosticCompilationFinishedCallback compilationCallback,
    ANeuralNetworksDiagnosticExecutionFinishedCallback executionCallback,
    void* callbackContext);

typedef struct NnApiSLDriverImpl {
    int64_t implFeatureLevel;
} NnApiSLDriverImpl;

/* Pointers to all functions. The levels above 5 add none. */
typedef struct NnApiSLDriverImplFL5 {
    NnApiSLDriverImpl base;
    int (*ANeuralNetworksBurst_create)(ANeuralNetworksCompilation*, ANeuralNetworksBurst**);
    void (*ANeuralNetworksBurst_free)(ANeuralNetworksBurst*);
    int (*ANeuralNetworksCompilation_createForDevices)(ANeuralNetworksModel*, const ANeuralNetworksDevice* const*, uint32_t, ANeuralNetworksCompilation**);
    int (*ANeuralNetworksCompilation_finish)(ANeuralNetworksCompilation*);
    void (*ANeuralNetworksCompilation_free)(ANeuralNetworksCompilation*);
    int (*ANeuralNetworksCompilation_getPreferredMemoryAlignmentForInput)(const ANeuralNetworksCompilation*, uint32_t, uint32_t*);
    int (*ANeuralNetworksCompilation_getPreferredMemoryAlignmentForOutput)(const ANeuralNetworksCompilation*, uint32_t, uint32_t*);
    int (*ANeuralNetworksCompilation_getPreferredMemoryPaddingForInput)(const ANeuralNetworksCompilation*, uint32_t, uint32_t*);
    int (*ANeuralNetworksCompilation_getPreferredMemoryPaddingForOutput)(const ANeuralNetworksCompilation*, uint32_t, uint32_t*);
    int (*ANeuralNetworksCompilation_setCaching)(ANeuralNetworksCompilation*, const char*, const uint8_t*);
    int (*ANeuralNetworksCompilation_setPreference)(ANeuralNetworksCompilation*, int32_t);
    int (*ANeuralNetworksCompilation_setPriority)(ANeuralNetworksCompilation*, int);
    int (*ANeuralNetworksCompilation_setTimeout)(ANeuralNetworksCompilation*, uint64_t);
    int (*ANeuralNetworksDevice_getExtensionSupport)(const ANeuralNetworksDevice*, const char*, bool*);
    int (*ANeuralNetworksDevice_getFeatureLevel)(const ANeuralNetworksDevice*, int64_t*);
    int (*ANeuralNetworksDevice_getName)(const ANeuralNetworksDevice*, const char**);
    int (*ANeuralNetworksDevice_getType)(const ANeuralNetworksDevice*, int32_t*);
    int (*ANeuralNetworksDevice_getVersion)(const ANeuralNetworksDevice*, const char**);
    int (*ANeuralNetworksDevice_wait)(const ANeuralNetworksDevice*);
    int (*ANeuralNetworksEvent_createFromSyncFenceFd)(int, ANeuralNetworksEvent**);
    void (*ANeuralNetworksEvent_free)(ANeuralNetworksEvent*);
    int (*ANeuralNetworksEvent_getSyncFenceFd)(const ANeuralNetworksEvent*, int*);
    int (*ANeuralNetworksEvent_wait)(ANeuralNetworksEvent*);
    int (*ANeuralNetworksExecution_burstCompute)(ANeuralNetworksExecution*, ANeuralNetworksBurst*);
    int (*ANeuralNetworksExecution_compute)(ANeuralNetworksExecution*);
    int (*ANeuralNetworksExecution_create)(ANeuralNetworksCompilation*, ANeuralNetworksExecution**);
    int (*ANeuralNetworksExecution_enableInputAndOutputPadding)(ANeuralNetworksExecution*, bool);
    void (*ANeuralNetworksExecution_free)(ANeuralNetworksExecution*);
    int (*ANeuralNetworksExecution_getDuration)(const ANeuralNetworksExecution*, int32_t, uint64_t*);
    int (*ANeuralNetworksExecution_getOutputOperandDimensions)(ANeuralNetworksExecution*, int32_t, uint32_t*);
    int (*ANeuralNetworksExecution_getOutputOperandRank)(ANeuralNetworksExecution*, int32_t, uint32_t*);
    int (*ANeuralNetworksExecution_setInput)(ANeuralNetworksExecution*, int32_t, const ANeuralNetworksOperandType*, const void*, size_t);
    int (*ANeuralNetworksExecution_setInputFromMemory)(ANeuralNetworksExecution*, int32_t, const ANeuralNetworksOperandType*, const ANeuralNetworksMemory*, size_t, size_t);
    int (*ANeuralNetworksExecution_setLoopTimeout)(ANeuralNetworksExecution*, uint64_t);
    int (*ANeuralNetworksExecution_setMeasureTiming)(ANeuralNetworksExecution*, bool);
    int (*ANeuralNetworksExecution_setOutput)(ANeuralNetworksExecution*, int32_t, const ANeuralNetworksOperandType*, void*, size_t);
    int (*ANeuralNetworksExecution_setOutputFromMemory)(ANeuralNetworksExecution*, int32_t, const ANeuralNetworksOperandType*, const ANeuralNetworksMemory*, size_t, size_t);
    int (*ANeuralNetworksExecution_setReusable)(ANeuralNetworksExecution*, bool);
    int (*ANeuralNetworksExecution_setTimeout)(ANeuralNetworksExecution*, uint64_t);
    int (*ANeuralNetworksExecution_startComputeWithDependencies)(ANeuralNetworksExecution*, const ANeuralNetworksEvent* const*, uint32_t, uint64_t, ANeuralNetworksEvent**);
    int (*ANeuralNetworksMemoryDesc_addInputRole)(ANeuralNetworksMemoryDesc*, const ANeuralNetworksCompilation*, uint32_t, float);
    int (*ANeuralNetworksMemoryDesc_addOutputRole)(ANeuralNetworksMemoryDesc*, const ANeuralNetworksCompilation*, uint32_t, float);
    int (*ANeuralNetworksMemoryDesc_create)(ANeuralNetworksMemoryDesc**);
    int (*ANeuralNetworksMemoryDesc_finish)(ANeuralNetworksMemoryDesc*);
    void (*ANeuralNetworksMemoryDesc_free)(ANeuralNetworksMemoryDesc*);
    int (*ANeuralNetworksMemoryDesc_setDimensions)(ANeuralNetworksMemoryDesc*, uint32_t, const uint32_t*);
    int (*ANeuralNetworksMemory_copy)(const ANeuralNetworksMemory*, const ANeuralNetworksMemory*);
    int (*ANeuralNetworksMemory_createFromAHardwareBuffer)(const AHardwareBuffer*, ANeuralNetworksMemory**);
    int (*ANeuralNetworksMemory_createFromDesc)(const ANeuralNetworksMemoryDesc*, ANeuralNetworksMemory**);
    int (*ANeuralNetworksMemory_createFromFd)(size_t, int, int, size_t, ANeuralNetworksMemory**);
    void (*ANeuralNetworksMemory_free)(ANeuralNetworksMemory*);
    int (*ANeuralNetworksModel_addOperand)(ANeuralNetworksModel*, const ANeuralNetworksOperandType*);
    int (*ANeuralNetworksModel_addOperation)(ANeuralNetworksModel*, ANeuralNetworksOperationType, uint32_t, const uint32_t*, uint32_t, const uint32_t*);
    int (*ANeuralNetworksModel_create)(ANeuralNetworksModel**);
    int (*ANeuralNetworksModel_finish)(ANeuralNetworksModel*);
    void (*ANeuralNetworksModel_free)(ANeuralNetworksModel*);
    int (*ANeuralNetworksModel_getExtensionOperandType)(ANeuralNetworksModel*, const char*, uint16_t, int32_t*);
    int (*ANeuralNetworksModel_getExtensionOperationType)(ANeuralNetworksModel*, const char*, uint16_t, ANeuralNetworksOperationType*);
    int (*ANeuralNetworksModel_getSupportedOperationsForDevices)(const ANeuralNetworksModel*, const ANeuralNetworksDevice* const*, uint32_t, bool*);
    int (*ANeuralNetworksModel_identifyInputsAndOutputs)(ANeuralNetworksModel*, uint32_t, const uint32_t*, uint32_t, const uint32_t*);
    int (*ANeuralNetworksModel_relaxComputationFloat32toFloat16)(ANeuralNetworksModel*, bool);
    int (*ANeuralNetworksModel_setOperandExtensionData)(ANeuralNetworksModel*, int32_t, const void*, size_t);
    int (*ANeuralNetworksModel_setOperandSymmPerChannelQuantParams)(ANeuralNetworksModel*, int32_t, const ANeuralNetworksSymmPerChannelQuantParams*);
    int (*ANeuralNetworksModel_setOperandValue)(ANeuralNetworksModel*, int32_t, const void*, size_t);
    int (*ANeuralNetworksModel_setOperandValueFromMemory)(ANeuralNetworksModel*, int32_t, const ANeuralNetworksMemory*, size_t, size_t);
    int (*ANeuralNetworksModel_setOperandValueFromModel)(ANeuralNetworksModel*, int32_t, const ANeuralNetworksModel*);
    uint64_t (*ANeuralNetworks_getDefaultLoopTimeout)(void);
    int (*ANeuralNetworks_getDevice)(uint32_t, ANeuralNetworksDevice**);
    int (*ANeuralNetworks_getDeviceCount)(uint32_t*);
    uint64_t (*ANeuralNetworks_getMaximumLoopTimeout)(void);
    int64_t (*ANeuralNetworks_getRuntimeFeatureLevel)(void);
    int (*SL_ANeuralNetworksCompilation_setCachingFromFds)(ANeuralNetworksCompilation*, const int*, const uint32_t, const int*, const uint32_t, const uint8_t*);
    int (*SL_ANeuralNetworksDevice_getNumberOfCacheFilesNeeded)(const ANeuralNetworksDevice*, uint32_t*, uint32_t*);
    int (*SL_ANeuralNetworksDevice_getPerformanceInfo)(const ANeuralNetworksDevice*, int32_t, SL_ANeuralNetworksPerformanceInfo*);
    int (*SL_ANeuralNetworksDevice_forEachOperandPerformanceInfo)(const ANeuralNetworksDevice*, void*, SL_NnapiOperandPerformanceCallback);
    int (*SL_ANeuralNetworksDevice_getVendorExtensionCount)(const ANeuralNetworksDevice*, uint32_t*);
    int (*SL_ANeuralNetworksDevice_getVendorExtensionName)(const ANeuralNetworksDevice*, uint32_t, const char**);
    int (*SL_ANeuralNetworksDevice_forEachVendorExtensionOperandTypeInformation)(const ANeuralNetworksDevice*, uint32_t, void*, SL_NnapiExtensionTypeCallback);
    int32_t (*SL_ANeuralNetworksDiagnosticCompilationInfo_getSessionId)(const ANeuralNetworksDiagnosticCompilationInfo*);
    int64_t (*SL_ANeuralNetworksDiagnosticCompilationInfo_getNnApiVersion)(const ANeuralNetworksDiagnosticCompilationInfo*);
    const uint8_t* (*SL_ANeuralNetworksDiagnosticCompilationInfo_getModelArchHash)(const ANeuralNetworksDiagnosticCompilationInfo*);
    const char* (*SL_ANeuralNetworksDiagnosticCompilationInfo_getDeviceIds)(const ANeuralNetworksDiagnosticCompilationInfo*);
    int32_t (*SL_ANeuralNetworksDiagnosticCompilationInfo_getErrorCode)(const ANeuralNetworksDiagnosticCompilationInfo*);
    ANeuralNetworksDiagnosticDataClass (*SL_ANeuralNetworksDiagnosticCompilationInfo_getInputDataClass)(const ANeuralNetworksDiagnosticCompilationInfo*);
    ANeuralNetworksDiagnosticDataClass (*SL_ANeuralNetworksDiagnosticCompilationInfo_getOutputDataClass)(const ANeuralNetworksDiagnosticCompilationInfo*);
    uint64_t (*SL_ANeuralNetworksDiagnosticCompilationInfo_getCompilationTimeNanos)(const ANeuralNetworksDiagnosticCompilationInfo*);
    bool (*SL_ANeuralNetworksDiagnosticCompilationInfo_isCachingEnabled)(const ANeuralNetworksDiagnosticCompilationInfo*);
    bool (*SL_ANeuralNetworksDiagnosticCompilationInfo_isControlFlowUsed)(const ANeuralNetworksDiagnosticCompilationInfo*);
    bool (*SL_ANeuralNetworksDiagnosticCompilationInfo_areDynamicTensorsUsed)(const ANeuralNetworksDiagnosticCompilationInfo*);
    int32_t (*SL_ANeuralNetworksDiagnosticExecutionInfo_getSessionId)(const ANeuralNetworksDiagnosticExecutionInfo*);
    int64_t (*SL_ANeuralNetworksDiagnosticExecutionInfo_getNnApiVersion)(const ANeuralNetworksDiagnosticExecutionInfo*);
    const uint8_t* (*SL_ANeuralNetworksDiagnosticExecutionInfo_getModelArchHash)(const ANeuralNetworksDiagnosticExecutionInfo*);
    const char* (*SL_ANeuralNetworksDiagnosticExecutionInfo_getDeviceIds)(const ANeuralNetworksDiagnosticExecutionInfo*);
    ANeuralNetworksDiagnosticExecutionMode (*SL_ANeuralNetworksDiagnosticExecutionInfo_getExecutionMode)(const ANeuralNetworksDiagnosticExecutionInfo*);
    ANeuralNetworksDiagnosticDataClass (*SL_ANeuralNetworksDiagnosticExecutionInfo_getInputDataClass)(const ANeuralNetworksDiagnosticExecutionInfo*);
    ANeuralNetworksDiagnosticDataClass (*SL_ANeuralNetworksDiagnosticExecutionInfo_getOutputDataClass)(const ANeuralNetworksDiagnosticExecutionInfo*);
    uint32_t (*SL_ANeuralNetworksDiagnosticExecutionInfo_getErrorCode)(const ANeuralNetworksDiagnosticExecutionInfo*);
    uint64_t (*SL_ANeuralNetworksDiagnosticExecutionInfo_getRuntimeExecutionTimeNanos)(const ANeuralNetworksDiagnosticExecutionInfo*);
    uint64_t (*SL_ANeuralNetworksDiagnosticExecutionInfo_getDriverExecutionTimeNanos)(const ANeuralNetworksDiagnosticExecutionInfo*);
    uint64_t (*SL_ANeuralNetworksDiagnosticExecutionInfo_getHardwareExecutionTimeNanos)(const ANeuralNetworksDiagnosticExecutionInfo*);
    bool (*SL_ANeuralNetworksDiagnosticExecutionInfo_isCachingEnabled)(const ANeuralNetworksDiagnosticExecutionInfo*);
    bool (*SL_ANeuralNetworksDiagnosticExecutionInfo_isControlFlowUsed)(const ANeuralNetworksDiagnosticExecutionInfo*);
    bool (*SL_ANeuralNetworksDiagnosticExecutionInfo_areDynamicTensorsUsed)(const ANeuralNetworksDiagnosticExecutionInfo*);
    void (*SL_ANeuralNetworksDiagnostic_registerCallbacks)(ANeuralNetworksDiagnosticCompilationFinishedCallback, ANeuralNetworksDiagnosticExecutionFinishedCallback, void*);
} NnApiSLDriverImplFL5;
typedef NnApiSLDriverImplFL5 NnApiSLDriverImplFL6;
typedef NnApiSLDriverImplFL5 NnApiSLDriverImplFL7;

/* The table of a support library with feature level 8. This library's has level 7. */
typedef struct NnApiSLDriverImplFL8 {
    NnApiSLDriverImplFL5 base;
    int (*ANeuralNetworksCompilation_addExtensionAttribute)(ANeuralNetworksCompilation*, const char*, uint16_t, const void*, size_t);
    int (*ANeuralNetworksExecution_addExtensionAttribute)(ANeuralNetworksExecution*, const char*, uint16_t, const void*, size_t);
} NnApiSLDriverImplFL8;

/* Return the library's functions as a support library. base.implFeatureLevel is that of a NnApiSLDriverImplFL7, the type
   of the result, which is read-only and valid as long as the library is loaded. */
NnApiSLDriverImpl* ANeuralNetworks_getSLDriverImpl(void);

#ifdef __cplusplus
}
#endif

#endif
