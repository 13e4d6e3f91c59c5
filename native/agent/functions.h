/* The functions of an NNAPI library that the agent calls: the first feature level with the function, or 0 if the agent does
   not need it, and the name without ANeuralNetworks. */

#include "NeuralNetworks.h"
#include "NeuralNetworksSupportLibraryImpl.h"

#define FUNCTIONS(F) \
    F(3, _getDeviceCount) \
    F(3, _getDevice) \
    F(3, Device_getName) \
    F(3, Device_getType) \
    F(3, Device_getVersion) \
    F(3, Device_getFeatureLevel) \
    F(1, Model_create) \
    F(1, Model_free) \
    F(1, Model_addOperand) \
    F(1, Model_setOperandValue) \
    F(4, Model_setOperandValueFromModel) \
    F(3, Model_setOperandSymmPerChannelQuantParams) \
    F(1, Model_addOperation) \
    F(1, Model_identifyInputsAndOutputs) \
    F(2, Model_relaxComputationFloat32toFloat16) \
    F(1, Model_finish) \
    F(3, Model_getSupportedOperationsForDevices) \
    F(3, Compilation_createForDevices) \
    F(1, Compilation_free) \
    F(1, Compilation_setPreference) \
    F(4, Compilation_setPriority) \
    F(4, Compilation_setTimeout) \
    F(1, Compilation_finish) \
    F(1, Execution_create) \
    F(1, Execution_free) \
    F(1, Execution_setInput) \
    F(1, Execution_setOutput) \
    F(4, Execution_setTimeout) \
    F(4, Execution_setLoopTimeout) \
    F(3, Execution_compute) \
    F(3, Execution_getOutputOperandRank) \
    F(3, Execution_getOutputOperandDimensions) \
    F(0, Burst_create) \
    F(0, Burst_free) \
    F(0, Execution_burstCompute) \
    F(0, Execution_setMeasureTiming) \
    F(0, Execution_setReusable) \
    F(0, Execution_getDuration) \
    F(0, Compilation_setCaching)

/* The pointers are NULL for functions that the library lacks. */
#define MEMBER(level, name) __typeof__(&ANeuralNetworks##name) name;
extern struct functions { FUNCTIONS(MEMBER) } library;
