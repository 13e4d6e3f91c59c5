/* Frees in the reverse of the usual order, handles that have been freed, handles of another kind. */
#include "client.h"

int main(void) {
    float input[COUNT], output[COUNT];
    ANeuralNetworksMemory *constants = weights();
    ANeuralNetworksModel *model = guide_model(constants), *other = NULL;
    ANeuralNetworksCompilation *compilation = compiled(model);
    ANeuralNetworksExecution *execution = prepared(compilation, input, output);
    ANeuralNetworksEvent *event = NULL;

    ANeuralNetworksMemory_free(constants);
    ANeuralNetworksModel_free(model);
    ANeuralNetworksCompilation_free(compilation);
    OK(ANeuralNetworksExecution_startCompute(execution, &event));
    OK(ANeuralNetworksEvent_wait(event));
    check_output(output);
    ANeuralNetworksExecution_free(execution);
    ANeuralNetworksEvent_free(event);

    EXPECT(ANEURALNETWORKS_BAD_DATA, ANeuralNetworksModel_finish(model));
    EXPECT(ANEURALNETWORKS_BAD_DATA, ANeuralNetworksCompilation_create(model, &compilation));
    CHECK(!compilation);
    EXPECT(ANEURALNETWORKS_BAD_DATA, ANeuralNetworksEvent_wait(event));
    ANeuralNetworksModel_free(model);
    ANeuralNetworksEvent_free(event);
    OK(ANeuralNetworksModel_create(&other));
    CHECK(other != model);
    EXPECT(ANEURALNETWORKS_BAD_DATA, ANeuralNetworksCompilation_finish((ANeuralNetworksCompilation *)other));
    EXPECT(ANEURALNETWORKS_BAD_DATA, ANeuralNetworksModel_finish((ANeuralNetworksModel *)input));
    ANeuralNetworksModel_free(other);

    ANeuralNetworksBurst_free(NULL);
    ANeuralNetworksCompilation_free(NULL);
    ANeuralNetworksEvent_free(NULL);
    ANeuralNetworksExecution_free(NULL);
    ANeuralNetworksMemory_free(NULL);
    ANeuralNetworksMemoryDesc_free(NULL);
    ANeuralNetworksModel_free(NULL);
    puts("done");
    return 0;
}
