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

/* Seconds and energy that a device takes, as parts of what the CPU takes. */
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

/* What is known of a compilation, or of a computation, while a callback runs. */
typedef struct ANeuralNetworksDiagnosticCompilationInfo ANeuralNetworksDiagnosticCompilationInfo;
typedef struct ANeuralNetworksDiagnosticExecutionInfo ANeuralNetworksDiagnosticExecutionInfo;

typedef void (*ANeuralNetworksDiagnosticCompilationFinishedCallback)(
    const void* context, const ANeuralNetworksDiagnosticCompilationInfo* info);
typedef void (*ANeuralNetworksDiagnosticExecutionFinishedCallback)(
    const void* context, const ANeuralNetworksDiagnosticExecutionInfo* info);

/* A cache in open files: as many as getNumberOfCacheFilesNeeded says, which is none. */
int SL_ANeuralNetworksCompilation_setCachingFromFds(
    ANeuralNetworksCompilation* compilation,
    const int* modelCacheFds,
    const uint32_t numModelCacheFiles,
    const int* dataCacheFds,
    const uint32_t numDataCacheFiles,
    const uint8_t* token);

/* Open files that a device wants for its cache: none, it keeps one in a directory. */
int SL_ANeuralNetworksDevice_getNumberOfCacheFilesNeeded(
    const ANeuralNetworksDevice* device,
    uint32_t* numModelCacheFiles,
    uint32_t* numDataCacheFiles);

/* How fast a device is at control flow and relaxed precision, a SL_ANeuralNetworksPerformanceInfoCode. */
int SL_ANeuralNetworksDevice_getPerformanceInfo(
    const ANeuralNetworksDevice* device,
    int32_t performanceInfoKind,
    SL_ANeuralNetworksPerformanceInfo* performanceInfo);

/* Call back with how fast a device is at each type of operand. */
int SL_ANeuralNetworksDevice_forEachOperandPerformanceInfo(
    const ANeuralNetworksDevice* device,
    void* context,
    SL_NnapiOperandPerformanceCallback callback);

/* Number of extensions that a device describes. */
int SL_ANeuralNetworksDevice_getVendorExtensionCount(
    const ANeuralNetworksDevice* device,
    uint32_t* vendorExtensionCount);

/* Name of an extension, valid as long as the process. */
int SL_ANeuralNetworksDevice_getVendorExtensionName(
    const ANeuralNetworksDevice* device,
    uint32_t vendorExtensionIndex,
    const char** extensionName);

/* Call back with each type of operand of an extension. */
int SL_ANeuralNetworksDevice_forEachVendorExtensionOperandTypeInformation(
    const ANeuralNetworksDevice* device,
    uint32_t vendorExtensionIndex,
    void* context,
    SL_NnapiExtensionTypeCallback callback);

/* A number of this process. */
int32_t SL_ANeuralNetworksDiagnosticCompilationInfo_getSessionId(
    const ANeuralNetworksDiagnosticCompilationInfo* diagnosticCompilationInfo);

/* Feature level of the runtime. */
int64_t SL_ANeuralNetworksDiagnosticCompilationInfo_getNnApiVersion(
    const ANeuralNetworksDiagnosticCompilationInfo* diagnosticCompilationInfo);

/* 32 bytes that depend on the model's structure, not on its weights. */
const uint8_t* SL_ANeuralNetworksDiagnosticCompilationInfo_getModelArchHash(
    const ANeuralNetworksDiagnosticCompilationInfo* diagnosticCompilationInfo);

/* Devices that compute, as name=version, with commas between. */
const char* SL_ANeuralNetworksDiagnosticCompilationInfo_getDeviceIds(
    const ANeuralNetworksDiagnosticCompilationInfo* diagnosticCompilationInfo);

/* The result code. */
int32_t SL_ANeuralNetworksDiagnosticCompilationInfo_getErrorCode(
    const ANeuralNetworksDiagnosticCompilationInfo* diagnosticCompilationInfo);

/* What the inputs are made of. */
ANeuralNetworksDiagnosticDataClass SL_ANeuralNetworksDiagnosticCompilationInfo_getInputDataClass(
    const ANeuralNetworksDiagnosticCompilationInfo* diagnosticCompilationInfo);

/* What the outputs are made of. */
ANeuralNetworksDiagnosticDataClass SL_ANeuralNetworksDiagnosticCompilationInfo_getOutputDataClass(
    const ANeuralNetworksDiagnosticCompilationInfo* diagnosticCompilationInfo);

/* Nanoseconds that it took; UINT64_MAX where it failed. */
uint64_t SL_ANeuralNetworksDiagnosticCompilationInfo_getCompilationTimeNanos(
    const ANeuralNetworksDiagnosticCompilationInfo* diagnosticCompilationInfo);

/* Was a cache asked for? */
bool SL_ANeuralNetworksDiagnosticCompilationInfo_isCachingEnabled(
    const ANeuralNetworksDiagnosticCompilationInfo* diagnosticCompilationInfo);

/* Has the model an IF or a WHILE? */
bool SL_ANeuralNetworksDiagnosticCompilationInfo_isControlFlowUsed(
    const ANeuralNetworksDiagnosticCompilationInfo* diagnosticCompilationInfo);

/* Has the model tensors between operations whose dimensions are dynamic? */
bool SL_ANeuralNetworksDiagnosticCompilationInfo_areDynamicTensorsUsed(
    const ANeuralNetworksDiagnosticCompilationInfo* diagnosticCompilationInfo);

/* A number of this process. */
int32_t SL_ANeuralNetworksDiagnosticExecutionInfo_getSessionId(
    const ANeuralNetworksDiagnosticExecutionInfo* diagnosticExecutionInfo);

/* Feature level of the runtime. */
int64_t SL_ANeuralNetworksDiagnosticExecutionInfo_getNnApiVersion(
    const ANeuralNetworksDiagnosticExecutionInfo* diagnosticExecutionInfo);

/* 32 bytes that depend on the model's structure, not on its weights. */
const uint8_t* SL_ANeuralNetworksDiagnosticExecutionInfo_getModelArchHash(
    const ANeuralNetworksDiagnosticExecutionInfo* diagnosticExecutionInfo);

/* Devices that compute, as name=version, with commas between. */
const char* SL_ANeuralNetworksDiagnosticExecutionInfo_getDeviceIds(
    const ANeuralNetworksDiagnosticExecutionInfo* diagnosticExecutionInfo);

/* By which function it was started. */
ANeuralNetworksDiagnosticExecutionMode SL_ANeuralNetworksDiagnosticExecutionInfo_getExecutionMode(
    const ANeuralNetworksDiagnosticExecutionInfo* diagnosticExecutionInfo);

/* What the inputs are made of. */
ANeuralNetworksDiagnosticDataClass SL_ANeuralNetworksDiagnosticExecutionInfo_getInputDataClass(
    const ANeuralNetworksDiagnosticExecutionInfo* diagnosticExecutionInfo);

/* What the outputs are made of. */
ANeuralNetworksDiagnosticDataClass SL_ANeuralNetworksDiagnosticExecutionInfo_getOutputDataClass(
    const ANeuralNetworksDiagnosticExecutionInfo* diagnosticExecutionInfo);

/* The result code. */
uint32_t SL_ANeuralNetworksDiagnosticExecutionInfo_getErrorCode(
    const ANeuralNetworksDiagnosticExecutionInfo* diagnosticExecutionInfo);

/* Nanoseconds from start to end; UINT64_MAX if it failed. */
uint64_t SL_ANeuralNetworksDiagnosticExecutionInfo_getRuntimeExecutionTimeNanos(
    const ANeuralNetworksDiagnosticExecutionInfo* diagnosticExecutionInfo);

/* Those within the driver; UINT64_MAX if not measured. */
uint64_t SL_ANeuralNetworksDiagnosticExecutionInfo_getDriverExecutionTimeNanos(
    const ANeuralNetworksDiagnosticExecutionInfo* diagnosticExecutionInfo);

/* Those on the device; UINT64_MAX if not measured. */
uint64_t SL_ANeuralNetworksDiagnosticExecutionInfo_getHardwareExecutionTimeNanos(
    const ANeuralNetworksDiagnosticExecutionInfo* diagnosticExecutionInfo);

/* Was a cache asked for? */
bool SL_ANeuralNetworksDiagnosticExecutionInfo_isCachingEnabled(
    const ANeuralNetworksDiagnosticExecutionInfo* diagnosticExecutionInfo);

/* Has the model an IF or a WHILE? */
bool SL_ANeuralNetworksDiagnosticExecutionInfo_isControlFlowUsed(
    const ANeuralNetworksDiagnosticExecutionInfo* diagnosticExecutionInfo);

/* Has the model tensors between operations whose dimensions are dynamic? */
bool SL_ANeuralNetworksDiagnosticExecutionInfo_areDynamicTensorsUsed(
    const ANeuralNetworksDiagnosticExecutionInfo* diagnosticExecutionInfo);

/* From now on, call back when a compilation or a computation has finished, with what is known of it; what is given
   lives as long as the call. Either callback may be null. */
void SL_ANeuralNetworksDiagnostic_registerCallbacks(
    ANeuralNetworksDiagnosticCompilationFinishedCallback compilationCallback,
    ANeuralNetworksDiagnosticExecutionFinishedCallback executionCallback,
    void* callbackContext);

typedef struct NnApiSLDriverImpl {
    int64_t implFeatureLevel;
} NnApiSLDriverImpl;

/* Every function by its pointer. The levels above 5 add none. */
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

/* The library's functions as a support library gives them: base.implFeatureLevel says that what is behind is a
   NnApiSLDriverImplFL7. It lives as long as the library is loaded; nobody may write to it. */
NnApiSLDriverImpl* ANeuralNetworks_getSLDriverImpl(void);

#ifdef __cplusplus
}
#endif

#endif
