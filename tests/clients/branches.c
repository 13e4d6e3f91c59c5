/* IF with two submodels: x + y where the condition holds, x * y where it does not. */
#include "client.h"

static ANeuralNetworksModel *binary(ANeuralNetworksOperationType operation) {
    ANeuralNetworksModel *model = NULL;
    ANeuralNetworksOperandType tensor = tensor_type();
    ANeuralNetworksOperandType activation = {ANEURALNETWORKS_INT32, 0, NULL, 0.0f, 0};
    const int32_t none = ANEURALNETWORKS_FUSED_NONE;
    const uint32_t inputs[3] = {0, 1, 2}, outputs[1] = {3};
    OK(ANeuralNetworksModel_create(&model));
    for (int i = 0; i < 4; i++) OK(ANeuralNetworksModel_addOperand(model, i == 2 ? &activation : &tensor));
    OK(ANeuralNetworksModel_setOperandValue(model, 2, &none, sizeof none));
    OK(ANeuralNetworksModel_addOperation(model, operation, 3, inputs, 1, outputs));
    OK(ANeuralNetworksModel_identifyInputsAndOutputs(model, 2, inputs, 1, outputs));
    OK(ANeuralNetworksModel_finish(model));
    return model;
}

int main(void) {
    ANeuralNetworksModel *model = NULL, *sum = binary(ANEURALNETWORKS_ADD), *product = binary(ANEURALNETWORKS_MUL);
    const uint32_t one[1] = {1};
    ANeuralNetworksOperandType condition = {ANEURALNETWORKS_TENSOR_BOOL8, 1, one, 0.0f, 0};
    ANeuralNetworksOperandType reference = {ANEURALNETWORKS_MODEL, 0, NULL, 0.0f, 0};
    ANeuralNetworksOperandType tensor = tensor_type();
    const uint32_t all[5] = {0, 1, 2, 3, 4}, inputs[3] = {0, 3, 4}, outputs[1] = {5};
    float x[COUNT], y[COUNT], output[COUNT];

    OK(ANeuralNetworksModel_create(&model));
    OK(ANeuralNetworksModel_addOperand(model, &condition));
    OK(ANeuralNetworksModel_addOperand(model, &reference));
    OK(ANeuralNetworksModel_addOperand(model, &reference));
    for (int i = 0; i < 3; i++) OK(ANeuralNetworksModel_addOperand(model, &tensor));
    OK(ANeuralNetworksModel_setOperandValueFromModel(model, 1, sum));
    OK(ANeuralNetworksModel_setOperandValueFromModel(model, 2, product));
    OK(ANeuralNetworksModel_addOperation(model, ANEURALNETWORKS_IF, 5, all, 1, outputs));
    OK(ANeuralNetworksModel_identifyInputsAndOutputs(model, 3, inputs, 1, outputs));
    OK(ANeuralNetworksModel_finish(model));
    ANeuralNetworksModel_free(sum); /* early: the main model refers to it, and must keep it */
    ANeuralNetworksCompilation *compilation = compiled(model);

    for (int i = 0; i < COUNT; i++) {
        x[i] = value_of(i);
        y[i] = b_of(i);
    }
    for (uint8_t truth = 0; truth < 2; truth++) {
        ANeuralNetworksExecution *execution = NULL;
        OK(ANeuralNetworksExecution_create(compilation, &execution));
        OK(ANeuralNetworksExecution_setInput(execution, 0, NULL, &truth, sizeof truth));
        OK(ANeuralNetworksExecution_setInput(execution, 1, NULL, x, sizeof x));
        OK(ANeuralNetworksExecution_setInput(execution, 2, NULL, y, sizeof y));
        OK(ANeuralNetworksExecution_setOutput(execution, 0, NULL, output, sizeof output));
        OK(ANeuralNetworksExecution_setLoopTimeout(execution, ANeuralNetworks_getDefaultLoopTimeout()));
        OK(ANeuralNetworksExecution_compute(execution));
        for (int i = 0; i < COUNT; i++) CHECK(fabsf(output[i] - (truth ? x[i] + y[i] : x[i] * y[i])) < 1e-5f);
        ANeuralNetworksExecution_free(execution);
    }
    ANeuralNetworksCompilation_free(compilation);
    ANeuralNetworksModel_free(model);
    ANeuralNetworksModel_free(product);
    puts("done");
    return 0;
}
