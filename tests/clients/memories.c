/* Memory domains: the output of one execution stays in an opaque memory and is the input of the next. */
#include "client.h"

int main(void) {
    ANeuralNetworksMemory *constants = weights(), *between = NULL, *source = NULL, *target = NULL;
    ANeuralNetworksModel *model = guide_model(constants);
    ANeuralNetworksCompilation *compilation = compiled(model);
    ANeuralNetworksMemoryDesc *desc = NULL;
    ANeuralNetworksExecution *execution = NULL;
    const uint32_t extents[2] = {ROWS, COLUMNS};
    const size_t size = COUNT * sizeof(float);

    OK(ANeuralNetworksMemoryDesc_create(&desc));
    OK(ANeuralNetworksMemoryDesc_addInputRole(desc, compilation, 0, 0.5f));
    OK(ANeuralNetworksMemoryDesc_addOutputRole(desc, compilation, 0, 0.5f));
    OK(ANeuralNetworksMemoryDesc_setDimensions(desc, 2, extents));
    OK(ANeuralNetworksMemoryDesc_finish(desc));
    OK(ANeuralNetworksMemory_createFromDesc(desc, &between));
    ANeuralNetworksMemoryDesc_free(desc);

    int fd = ASharedMemory_create("values", 2 * size);
    float *values = mmap(NULL, 2 * size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    CHECK(values != MAP_FAILED);
    fill_input(values);
    OK(ANeuralNetworksMemory_createFromFd(size, PROT_READ, fd, 0, &source));
    OK(ANeuralNetworksMemory_createFromFd(size, PROT_READ | PROT_WRITE, fd, size, &target));

    OK(ANeuralNetworksMemory_copy(source, between));
    OK(ANeuralNetworksExecution_create(compilation, &execution));
    OK(ANeuralNetworksExecution_setInputFromMemory(execution, 0, NULL, between, 0, 0));
    OK(ANeuralNetworksExecution_setOutputFromMemory(execution, 0, NULL, target, 0, size));
    OK(ANeuralNetworksExecution_compute(execution));
    ANeuralNetworksExecution_free(execution);
    check_output(values + COUNT);

    OK(ANeuralNetworksExecution_create(compilation, &execution));
    OK(ANeuralNetworksExecution_setInputFromMemory(execution, 0, NULL, source, 0, size));
    OK(ANeuralNetworksExecution_setOutputFromMemory(execution, 0, NULL, between, 0, 0));
    OK(ANeuralNetworksExecution_compute(execution));
    ANeuralNetworksExecution_free(execution);
    memset(values + COUNT, 0, size);
    OK(ANeuralNetworksMemory_copy(between, target));
    check_output(values + COUNT);

    munmap(values, 2 * size);
    close(fd);
    ANeuralNetworksMemory_free(between);
    ANeuralNetworksMemory_free(source);
    ANeuralNetworksMemory_free(target);
    ANeuralNetworksCompilation_free(compilation);
    ANeuralNetworksModel_free(model);
    ANeuralNetworksMemory_free(constants);
    puts("done");
    return 0;
}
