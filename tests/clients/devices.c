/* Finding devices, asking what they take, compiling for one of them, and timing it. */
#include "client.h"

int main(void) {
    uint32_t count = 0;
    ANeuralNetworksMemory *constants = weights();
    ANeuralNetworksModel *model = guide_model(constants);
    float input[COUNT], output[COUNT];

    OK(ANeuralNetworks_getDeviceCount(&count));
    CHECK(count > 0);
    for (uint32_t i = 0; i < count; i++) {
        ANeuralNetworksDevice *device = NULL, *again = NULL;
        const char *name = NULL, *version = NULL;
        int32_t type = -1;
        int64_t level = 0;
        bool supported[2] = {false, false};
        OK(ANeuralNetworks_getDevice(i, &device));
        OK(ANeuralNetworks_getDevice(i, &again));
        CHECK(device == again);
        OK(ANeuralNetworksDevice_getName(device, &name));
        OK(ANeuralNetworksDevice_getVersion(device, &version));
        OK(ANeuralNetworksDevice_getType(device, &type));
        OK(ANeuralNetworksDevice_getFeatureLevel(device, &level));
        OK(ANeuralNetworksDevice_wait(device));
        const ANeuralNetworksDevice *devices[1] = {device};
        OK(ANeuralNetworksModel_getSupportedOperationsForDevices(model, devices, 1, supported));
        printf("%s %s, type %d, level %lld, takes %d and %d\n", name, version, type, (long long)level, supported[0],
               supported[1]);
        if (!supported[0] || !supported[1]) continue;

        ANeuralNetworksCompilation *compilation = NULL;
        OK(ANeuralNetworksCompilation_createForDevices(model, devices, 1, &compilation));
        OK(ANeuralNetworksCompilation_setTimeout(compilation, 60ull * 1000 * 1000 * 1000));
        OK(ANeuralNetworksCompilation_finish(compilation));
        ANeuralNetworksExecution *execution = prepared(compilation, input, output);
        OK(ANeuralNetworksExecution_setMeasureTiming(execution, true));
        OK(ANeuralNetworksExecution_setTimeout(execution, 60ull * 1000 * 1000 * 1000));
        OK(ANeuralNetworksExecution_compute(execution));
        check_output(output);
        for (int32_t code = ANEURALNETWORKS_DURATION_ON_HARDWARE; code <= ANEURALNETWORKS_FENCED_DURATION_IN_DRIVER; code++) {
            uint64_t duration = 0;
            OK(ANeuralNetworksExecution_getDuration(execution, code, &duration));
            CHECK(duration > 0);
        }
        ANeuralNetworksExecution_free(execution);
        ANeuralNetworksCompilation_free(compilation);
    }
    ANeuralNetworksModel_free(model);
    ANeuralNetworksMemory_free(constants);
    return 0;
}
