#ifndef NNAPI_NEURALNETWORKSEXTENSIONS_H
#define NNAPI_NEURALNETWORKSEXTENSIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#include "NeuralNetworks.h"

/* Does a device know an extension? Since feature level 3. */
int ANeuralNetworksDevice_getExtensionSupport(
    const ANeuralNetworksDevice* device,
    const char* extensionName,
    bool* isExtensionSupported);

/* Give an operand of an extension's type parameters of its own. Since feature level 3. */
int ANeuralNetworksModel_setOperandExtensionData(
    ANeuralNetworksModel* model,
    int32_t index,
    const void* data,
    size_t length);

/* Number of an operand type of an extension. Since feature level 3. */
int ANeuralNetworksModel_getExtensionOperandType(
    ANeuralNetworksModel* model,
    const char* extensionName,
    uint16_t operandCodeWithinExtension,
    int32_t* type);

/* Number of an operation of an extension. Since feature level 3. */
int ANeuralNetworksModel_getExtensionOperationType(
    ANeuralNetworksModel* model,
    const char* extensionName,
    uint16_t operationCodeWithinExtension,
    ANeuralNetworksOperationType* type);

/* A hint to the one device of a compilation. Since feature level 8. */
int ANeuralNetworksCompilation_addExtensionAttribute(
    ANeuralNetworksCompilation* compilation,
    const char* extensionName,
    uint16_t attributeCodeWithinExtension,
    const void* data,
    size_t length);

/* A hint to the one device of an execution. Since feature level 8. */
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
