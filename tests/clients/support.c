/* The library as a support library: everything by the table of pointers, and diagnostics by callbacks. */
#include <NeuralNetworksSupportLibraryImpl.h>

#include "client.h"

enum { COMPILED, FAILED, ASYNC, SYNC, BURST, FENCED, KINDS };

struct seen {
    int counts[KINDS], sessions, types;
    uint8_t hash[32];
};

static const NnApiSLDriverImplFL7 *driver;

static void compiled_back(const void *context, const ANeuralNetworksDiagnosticCompilationInfo *info) {
    struct seen *seen = (struct seen *)context;
    int failed = driver->SL_ANeuralNetworksDiagnosticCompilationInfo_getErrorCode(info) != 0;
    seen->counts[failed ? FAILED : COMPILED]++;
    seen->sessions = driver->SL_ANeuralNetworksDiagnosticCompilationInfo_getSessionId(info);
    CHECK(seen->sessions > 0);
    CHECK(driver->SL_ANeuralNetworksDiagnosticCompilationInfo_getNnApiVersion(info) == ANEURALNETWORKS_FEATURE_LEVEL_8);
    memcpy(seen->hash, driver->SL_ANeuralNetworksDiagnosticCompilationInfo_getModelArchHash(info), 32);
    CHECK(strchr(driver->SL_ANeuralNetworksDiagnosticCompilationInfo_getDeviceIds(info), '='));
    CHECK(driver->SL_ANeuralNetworksDiagnosticCompilationInfo_getInputDataClass(info) == ANNDIAG_DATA_CLASS_FLOAT32);
    CHECK(driver->SL_ANeuralNetworksDiagnosticCompilationInfo_getOutputDataClass(info) == ANNDIAG_DATA_CLASS_FLOAT32);
    uint64_t time = driver->SL_ANeuralNetworksDiagnosticCompilationInfo_getCompilationTimeNanos(info);
    CHECK(failed == (time == UINT64_MAX) && time > 0);
    CHECK(!driver->SL_ANeuralNetworksDiagnosticCompilationInfo_isCachingEnabled(info));
    CHECK(!driver->SL_ANeuralNetworksDiagnosticCompilationInfo_isControlFlowUsed(info));
    CHECK(!driver->SL_ANeuralNetworksDiagnosticCompilationInfo_areDynamicTensorsUsed(info));
}

static void ran_back(const void *context, const ANeuralNetworksDiagnosticExecutionInfo *info) {
    struct seen *seen = (struct seen *)context;
    static const int kinds[] = {-1, ASYNC, SYNC, BURST, FENCED};
    int kind = kinds[driver->SL_ANeuralNetworksDiagnosticExecutionInfo_getExecutionMode(info)];
    CHECK(kind > 0);
    seen->counts[kind]++;
    CHECK(driver->SL_ANeuralNetworksDiagnosticExecutionInfo_getSessionId(info) == seen->sessions);
    CHECK(driver->SL_ANeuralNetworksDiagnosticExecutionInfo_getNnApiVersion(info) == ANEURALNETWORKS_FEATURE_LEVEL_8);
    CHECK(!memcmp(driver->SL_ANeuralNetworksDiagnosticExecutionInfo_getModelArchHash(info), seen->hash, 32));
    CHECK(strchr(driver->SL_ANeuralNetworksDiagnosticExecutionInfo_getDeviceIds(info), '='));
    CHECK(driver->SL_ANeuralNetworksDiagnosticExecutionInfo_getInputDataClass(info) == ANNDIAG_DATA_CLASS_FLOAT32);
    CHECK(driver->SL_ANeuralNetworksDiagnosticExecutionInfo_getOutputDataClass(info) == ANNDIAG_DATA_CLASS_FLOAT32);
    CHECK(driver->SL_ANeuralNetworksDiagnosticExecutionInfo_getErrorCode(info) == ANEURALNETWORKS_NO_ERROR);
    CHECK(driver->SL_ANeuralNetworksDiagnosticExecutionInfo_getRuntimeExecutionTimeNanos(info) != UINT64_MAX);
    CHECK(driver->SL_ANeuralNetworksDiagnosticExecutionInfo_getDriverExecutionTimeNanos(info) == UINT64_MAX);
    CHECK(driver->SL_ANeuralNetworksDiagnosticExecutionInfo_getHardwareExecutionTimeNanos(info) == UINT64_MAX);
    CHECK(!driver->SL_ANeuralNetworksDiagnosticExecutionInfo_isCachingEnabled(info));
    CHECK(!driver->SL_ANeuralNetworksDiagnosticExecutionInfo_isControlFlowUsed(info));
    CHECK(!driver->SL_ANeuralNetworksDiagnosticExecutionInfo_areDynamicTensorsUsed(info));
}

static void type_back(SL_ANeuralNetworksOperandPerformanceInfo info, void *context) {
    CHECK(info.operandType >= 0 && info.performanceInfo.execTime > 0 && info.performanceInfo.powerUsage > 0);
    ((struct seen *)context)->types++;
}

static void check_device(const ANeuralNetworksDevice *device) {
    struct seen seen = {0};
    uint32_t models = 7, data = 7, extensions = 7;
    const char *name = NULL;
    SL_ANeuralNetworksPerformanceInfo info = {0, 0};
    OK(driver->SL_ANeuralNetworksDevice_getNumberOfCacheFilesNeeded(device, &models, &data));
    CHECK(!models && !data);
    for (int kind = 0; kind <= SL_ANEURALNETWORKS_CAPABILITIES_PERFORMANCE_WHILE; kind++) {
        OK(driver->SL_ANeuralNetworksDevice_getPerformanceInfo(device, kind, &info));
        CHECK(info.execTime > 0 && info.powerUsage > 0);
    }
    EXPECT(ANEURALNETWORKS_BAD_DATA, driver->SL_ANeuralNetworksDevice_getPerformanceInfo(device, 4, &info));
    OK(driver->SL_ANeuralNetworksDevice_forEachOperandPerformanceInfo(device, &seen, type_back));
    CHECK(seen.types >= 16);
    OK(driver->SL_ANeuralNetworksDevice_getVendorExtensionCount(device, &extensions));
    EXPECT(ANEURALNETWORKS_BAD_DATA, driver->SL_ANeuralNetworksDevice_getVendorExtensionName(device, extensions, &name));
    EXPECT(ANEURALNETWORKS_BAD_DATA,
           driver->SL_ANeuralNetworksDevice_forEachVendorExtensionOperandTypeInformation(device, extensions, NULL, NULL));
}

static void run_all(ANeuralNetworksCompilation *compilation) {
    float input[COUNT], output[COUNT];
    ANeuralNetworksExecution *execution = prepared(compilation, input, output);
    ANeuralNetworksEvent *event = NULL;
    ANeuralNetworksBurst *burst = NULL;
    OK(driver->ANeuralNetworksExecution_compute(execution));
    check_output(output);
    driver->ANeuralNetworksExecution_free(execution);

    execution = prepared(compilation, input, output);
    OK(ANeuralNetworksExecution_startCompute(execution, &event));
    OK(driver->ANeuralNetworksEvent_wait(event));
    driver->ANeuralNetworksEvent_free(event);
    driver->ANeuralNetworksExecution_free(execution);

    execution = prepared(compilation, input, output);
    OK(driver->ANeuralNetworksExecution_startComputeWithDependencies(execution, NULL, 0, 0, &event));
    driver->ANeuralNetworksEvent_free(event);
    driver->ANeuralNetworksExecution_free(execution);

    execution = prepared(compilation, input, output);
    OK(driver->ANeuralNetworksBurst_create(compilation, &burst));
    OK(driver->ANeuralNetworksExecution_burstCompute(execution, burst));
    driver->ANeuralNetworksBurst_free(burst);
    driver->ANeuralNetworksExecution_free(execution);
}

int main(void) {
    struct seen seen = {0};
    uint32_t count = 0;
    ANeuralNetworksDevice *device = NULL;
    ANeuralNetworksCompilation *compilation = NULL;
    NnApiSLDriverImpl *given = ANeuralNetworks_getSLDriverImpl();
    CHECK(given && given->implFeatureLevel == ANEURALNETWORKS_FEATURE_LEVEL_7);
    driver = (const NnApiSLDriverImplFL7 *)given;
    for (size_t i = 1; i < sizeof *driver / sizeof(void *); i++) CHECK(((void *const *)driver)[i]);

    OK(driver->ANeuralNetworks_getDeviceCount(&count));
    for (uint32_t i = 0; i < count; i++) {
        OK(driver->ANeuralNetworks_getDevice(i, &device));
        check_device(device);
    }
    const ANeuralNetworksDevice *last = device;
    ANeuralNetworksMemory *constants = weights();
    ANeuralNetworksModel *model = guide_model(constants);
    OK(driver->ANeuralNetworksCompilation_createForDevices(model, &last, 1, &compilation));
    int fd = 0;
    EXPECT(ANEURALNETWORKS_BAD_DATA,
           driver->SL_ANeuralNetworksCompilation_setCachingFromFds(compilation, &fd, 1, NULL, 0, NULL));
    OK(driver->SL_ANeuralNetworksCompilation_setCachingFromFds(compilation, NULL, 0, NULL, 0, NULL));

    run_all(compiled(model)); /* before anybody registers */
    driver->SL_ANeuralNetworksDiagnostic_registerCallbacks(compiled_back, ran_back, &seen);
    driver->SL_ANeuralNetworksDiagnostic_registerCallbacks(NULL, NULL, NULL);
    OK(driver->ANeuralNetworksCompilation_finish(compilation));
    EXPECT(ANEURALNETWORKS_BAD_STATE, driver->ANeuralNetworksCompilation_finish(compilation));
    run_all(compilation);
    for (int kind = 0; kind < KINDS; kind++) CHECK(seen.counts[kind] == 1);

    driver->ANeuralNetworksCompilation_free(compilation);
    driver->ANeuralNetworksModel_free(model);
    driver->ANeuralNetworksMemory_free(constants);
    puts("done");
    return 0;
}
