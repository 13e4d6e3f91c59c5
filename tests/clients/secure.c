/* Runs a model in a program that may have more rights than its caller. Prints "secure" if the kernel says so. */
#include <sys/auxv.h>

#include "client.h"

int main(void) {
    float input[COUNT], output[COUNT];
    ANeuralNetworksMemory *constants = weights();
    ANeuralNetworksModel *model = guide_model(constants);
    ANeuralNetworksCompilation *compilation = NULL;
    OK(ANeuralNetworksCompilation_create(model, &compilation));
    OK(ANeuralNetworksCompilation_finish(compilation));
    ANeuralNetworksExecution *execution = prepared(compilation, input, output);
    OK(ANeuralNetworksExecution_compute(execution));
    check_output(output);
    ANeuralNetworksExecution_free(execution);
    ANeuralNetworksCompilation_free(compilation);
    ANeuralNetworksModel_free(model);
    ANeuralNetworksMemory_free(constants);
    puts(getauxval(AT_SECURE) ? "secure" : "like its caller");
    return 0;
}
