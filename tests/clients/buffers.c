/* Hardware buffers: of format BLOB as input and output, of format R8G8B8A8_UNORM as what only a device could read. */
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

static void check_image(ANeuralNetworksCompilation *compilation) {
    AHardwareBuffer *buffer = NULL;
    AHardwareBuffer_Desc desc = {0}, told;
    ANeuralNetworksMemory *memory = NULL;
    ANeuralNetworksModel *model = NULL;
    ANeuralNetworksExecution *execution = NULL;
    ANeuralNetworksOperandType tensor = tensor_type();
    float output[COUNT];
    void *address = NULL;
    desc.width = 16;
    desc.height = 8;
    desc.layers = 2;
    desc.format = AHARDWAREBUFFER_FORMAT_R8G8B8A8_UNORM;
    desc.usage = AHARDWAREBUFFER_USAGE_CPU_READ_OFTEN | AHARDWAREBUFFER_USAGE_CPU_WRITE_OFTEN;
    OK(AHardwareBuffer_allocate(&desc, &buffer));
    AHardwareBuffer_describe(buffer, &told);
    CHECK(told.width == 16 && told.height == 8 && told.layers == 2 && told.format == desc.format);
    CHECK(told.usage == desc.usage && told.stride == 16);
    OK(AHardwareBuffer_lock(buffer, AHARDWAREBUFFER_USAGE_CPU_WRITE_OFTEN, -1, NULL, &address));
    memset(address, 7, 16 * 8 * 2 * 4);
    OK(AHardwareBuffer_unlock(buffer, NULL));
    OK(ANeuralNetworksMemory_createFromAHardwareBuffer(buffer, &memory));

    OK(ANeuralNetworksModel_create(&model));
    OK(ANeuralNetworksModel_addOperand(model, &tensor));
    EXPECT(ANEURALNETWORKS_BAD_DATA,
           ANeuralNetworksModel_setOperandValueFromMemory(model, 0, memory, 0, COUNT * sizeof(float)));
    ANeuralNetworksModel_free(model);

    OK(ANeuralNetworksExecution_create(compilation, &execution));
    EXPECT(ANEURALNETWORKS_BAD_DATA,
           ANeuralNetworksExecution_setInputFromMemory(execution, 0, NULL, memory, 0, COUNT * sizeof(float)));
    OK(ANeuralNetworksExecution_setInputFromMemory(execution, 0, NULL, memory, 0, 0));
    OK(ANeuralNetworksExecution_setOutput(execution, 0, NULL, output, sizeof output));
    EXPECT(ANEURALNETWORKS_UNMAPPABLE, ANeuralNetworksExecution_compute(execution));
    ANeuralNetworksExecution_free(execution);
    ANeuralNetworksMemory_free(memory);
    AHardwareBuffer_release(buffer);
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

    check_image(compilation);
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
