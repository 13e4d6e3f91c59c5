#ifndef NNAPI_NEURALNETWORKSEXTENSIONS_H
#define NNAPI_NEURALNETWORKSEXTENSIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#include "NeuralNetworks.h"

/* Get whether a device supports an extension. Since feature level 3. */
int ANeuralNetworksDevice_getExtensionSupport(
    const ANeuralNetworksDevice* device,
    const char* extensionName,
    bool* isExtensionSupported);

/* Set the extension-defined parameters of an operand of an extension's type. Since feature level 3. */
int ANeuralNetworksModel_setOperandExtensionData(
    ANeuralNetworksModel* model,
    int32_t index,
    const void* data,
    size_t length);

/* Get the code of an extension's operand type in this model. Since feature level 3. */
int ANeuralNetworksModel_getExtensionOperandType(
    ANeuralNetworksModel* model,
    const char* extensionName,
    uint16_t operandCodeWithinExtension,
    int32_t* type);

/* Get the code of an extension's operation in this model. Since feature level 3. */
int ANeuralNetworksModel_getExtensionOperationType(
    ANeuralNetworksModel* model,
    const char* extensionName,
    uint16_t operationCodeWithinExtension,
    ANeuralNetworksOperationType* type);

/* Add an extension-defined hint for a compilation's only device. Since feature level 8. */
int ANeuralNetworksCompilation_addExtensionAttribute(
    ANeuralNetworksCompilation* compilation,
    const char* extensionName,
    uint16_t attributeCodeWithinExtension,
    const void* data,
    size_t length);

/* Add an extension-defined hint for an execution's only device. Since feature level 8. */
int ANeuralNetworksExecution_addExtensionAttribute(
    ANeuralNetworksExecution* execution,
    const char* extensionName,
    uint16_t attributeCodeWithinExtension,
    const void* data,
    size_t length);

#ifdef __cplusplus
}
#endif

#endif
