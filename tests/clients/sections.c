/* Sections of the client's own in a trace; an argument says that one is being recorded. */
#include <android/trace.h>

#include "client.h"

int main(int count, char **words) {
    float input[COUNT], output[COUNT];
    const bool is_traced = count > 1 && !strcmp(words[1], "traced");

    CHECK(ATrace_isEnabled() == is_traced);
    ATrace_beginSection("[NN_LA_PO]sections");
    ATrace_beginAsyncSection("flight", 7);
    ATrace_beginSection("[NN_LA_PP]describe");
    ANeuralNetworksMemory *constants = weights();
    ANeuralNetworksModel *model = guide_model(constants);
    ATrace_endSection();
    ATrace_beginSection("[NN_LA_PC]compile");
    ANeuralNetworksCompilation *compilation = compiled(model);
    ATrace_endSection();
    for (int i = 0; i < 3; i++) {
        ATrace_beginSection("[NN_LA_PE]runInference");
        ANeuralNetworksExecution *execution = prepared(compilation, input, output);
        OK(ANeuralNetworksExecution_compute(execution));
        ATrace_beginSection("[NN_LA_PR]check");
        check_output(output);
        ATrace_endSection();
        ANeuralNetworksExecution_free(execution);
        ATrace_endSection();
    }
    ATrace_endAsyncSection("flight", 7);
    ATrace_endSection();
    ATrace_endSection(); /* one too many does nothing */

    ANeuralNetworksCompilation_free(compilation);
    ANeuralNetworksModel_free(model);
    ANeuralNetworksMemory_free(constants);
    puts("done");
    return 0;
}
