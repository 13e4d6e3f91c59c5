/* Hardware buffers of format BLOB as input and output. */
#include <android/hardware_buffer.h>

#include "client.h"

static AHardwareBuffer *allocated(size_t size) {
    AHardwareBuffer *buffer = NULL;
    AHardwareBuffer_Desc desc = {0}, told;
    desc.width = (uint32_t)size;
    desc.height = desc.layers = 1;
    desc.format = AHARDWAREBUFFER_FORMAT_BLOB;
    desc.usage = AHARDWAREBUFFER_USAGE_CPU_READ_OFTEN | AHARDWAREBUFFER_USAGE_CPU_WRITE_OFTEN;
    OK(AHardwareBuffer_allocate(&desc, &buffer));
    AHardwareBuffer_describe(buffer, &told);
    CHECK(told.width == desc.width && told.height == 1 && told.format == desc.format);
    return buffer;
}

int main(void) {
    const size_t size = COUNT * sizeof(float);
    AHardwareBuffer *in = allocated(size), *out = allocated(size);
    ANeuralNetworksMemory *constants = weights(), *input = NULL, *output = NULL;
    ANeuralNetworksModel *model = guide_model(constants);
    ANeuralNetworksCompilation *compilation = compiled(model);
    ANeuralNetworksExecution *execution = NULL;
    void *address = NULL;
    int32_t fence = 0;

    OK(AHardwareBuffer_lock(in, AHARDWAREBUFFER_USAGE_CPU_WRITE_OFTEN, -1, NULL, &address));
    fill_input(address);
    OK(AHardwareBuffer_unlock(in, &fence));
    CHECK(fence == -1);
    CHECK(AHardwareBuffer_unlock(in, NULL) < 0);
    OK(ANeuralNetworksMemory_createFromAHardwareBuffer(in, &input));
    OK(ANeuralNetworksMemory_createFromAHardwareBuffer(out, &output));
    AHardwareBuffer_acquire(in);
    AHardwareBuffer_release(in);
    AHardwareBuffer_release(in); /* the memory still holds the bytes */

    OK(ANeuralNetworksExecution_create(compilation, &execution));
    OK(ANeuralNetworksExecution_setInputFromMemory(execution, 0, NULL, input, 0, size));
    OK(ANeuralNetworksExecution_setOutputFromMemory(execution, 0, NULL, output, 0, size));
    OK(ANeuralNetworksExecution_compute(execution));
    OK(AHardwareBuffer_lock(out, AHARDWAREBUFFER_USAGE_CPU_READ_OFTEN, -1, NULL, &address));
    check_output(address);
    OK(AHardwareBuffer_unlock(out, NULL));

    ANeuralNetworksMemory_free(input);
    ANeuralNetworksMemory_free(output);
    AHardwareBuffer_release(out);
    ANeuralNetworksExecution_free(execution);
    ANeuralNetworksCompilation_free(compilation);
    ANeuralNetworksModel_free(model);
    ANeuralNetworksMemory_free(constants);
    puts("done");
    return 0;
}
