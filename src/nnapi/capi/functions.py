"""The functions of libneuralnetworks.so: one table, from which the header, the C functions, their Python
implementations and the test client are generated.

This module imports only its neighbor: the C build reads it before the package is installed.
"""

from __future__ import annotations

from nnapi.capi.prototype import Function
from nnapi.capi.support import SUPPORT

EXTENSIONS = "NeuralNetworksExtensions.h"
HARDWARE_BUFFER = "android/hardware_buffer.h"
TRACE = "android/trace.h"
UNEXPECTED_NULL, BAD_DATA, BAD_STATE, OUTPUT_INSUFFICIENT_SIZE = 3, 4, 6, 8
NO_TIMING = 2**64 - 1
EINVAL = 22

# fmt: off
FUNCTIONS = (
    # Runtime and devices
    Function(
        "int64_t ANeuralNetworks_getRuntimeFeatureLevel(void)",
        "", 5,
        "Feature level of this runtime, a FeatureLevelCode.", answer="ANEURALNETWORKS_FEATURE_LEVEL_8",
    ),
    Function(
        "int ANeuralNetworks_getDeviceCount(uint32_t* numDevices)",
        "len(devices_here())", 3,
        "Number of devices, the CPU reference included.",
    ),
    Function(
        "int ANeuralNetworks_getDevice(uint32_t devIndex, ANeuralNetworksDevice** device)",
        "device_at(devIndex)", 3,
        "The device at an index. The handle lives as long as the process and is not freed.",
    ),
    Function(
        "int ANeuralNetworksDevice_getName(const ANeuralNetworksDevice* device, const char** name)",
        "device.name", 3,
        "Name of a device, valid as long as the process.",
    ),
    Function(
        "int ANeuralNetworksDevice_getType(const ANeuralNetworksDevice* device, int32_t* type)",
        "device.type", 3,
        "What kind of device it is, a DeviceTypeCode.",
    ),
    Function(
        "int ANeuralNetworksDevice_getVersion(const ANeuralNetworksDevice* device, const char** version)",
        "device.version", 3,
        "Version of a device's driver, valid as long as the process.",
    ),
    Function(
        "int ANeuralNetworksDevice_getFeatureLevel(const ANeuralNetworksDevice* device, int64_t* featureLevel)",
        "device.feature_level", 3,
        "Highest feature level that a device implements, a FeatureLevelCode.",
    ),
    Function(
        "int ANeuralNetworksDevice_wait(const ANeuralNetworksDevice* device)",
        "device.wait()", 4,
        "Wait until a device can be used (again).",
    ),
    Function(
        "int ANeuralNetworksDevice_getExtensionSupport(const ANeuralNetworksDevice* device, const char* extensionName, bool* isExtensionSupported)",
        "extensionName in device.extensions", 3,
        "Does a device know an extension?", EXTENSIONS,
    ),
    Function(
        "uint64_t ANeuralNetworks_getDefaultLoopTimeout(void)",
        "", 4,
        "Nanoseconds that a WHILE may run unless the execution says otherwise.", answer="2000000000u",
    ),
    Function(
        "uint64_t ANeuralNetworks_getMaximumLoopTimeout(void)",
        "", 4,
        "Nanoseconds that a WHILE may run at most.", answer="15000000000u",
    ),
    # Memory
    Function(
        "int ANeuralNetworksMemory_createFromFd(size_t size, int protect, int fd, size_t offset, ANeuralNetworksMemory** memory)",
        "Memory.from_fd(size, protect, fd, offset)", 1,
        "Memory over part of a file. The descriptor is duplicated; protect mixes PROT_READ and PROT_WRITE.",
    ),
    Function(
        "int ANeuralNetworksMemory_createFromAHardwareBuffer(const AHardwareBuffer* ahwb, ANeuralNetworksMemory** memory)",
        "ahwb.memory()", 3,
        "Memory over a hardware buffer of format BLOB.",
    ),
    Function(
        "int ANeuralNetworksMemory_createFromDesc(const ANeuralNetworksMemoryDesc* desc, ANeuralNetworksMemory** memory)",
        "desc.create_memory()", 4,
        "Opaque memory for the roles of a finished descriptor.",
    ),
    Function(
        "int ANeuralNetworksMemory_copy(const ANeuralNetworksMemory* src, const ANeuralNetworksMemory* dst)",
        "copy_memory(src, dst)", 4,
        "Copy the whole of one memory into another.",
    ),
    Function(
        "void ANeuralNetworksMemory_free(ANeuralNetworksMemory* memory)",
        "", 1,
        "Free a memory; null does nothing.",
    ),
    Function(
        "int ANeuralNetworksMemoryDesc_create(ANeuralNetworksMemoryDesc** desc)",
        "MemoryDesc()", 4,
        "A new descriptor of an opaque memory, without roles.",
    ),
    Function(
        "int ANeuralNetworksMemoryDesc_addInputRole(ANeuralNetworksMemoryDesc* desc, const ANeuralNetworksCompilation* compilation, uint32_t index, float frequency)",
        "desc.add_input_role(compilation, index, frequency)", 4,
        "The memory will be this input of this compilation, in this part (0, 1] of its runs.",
    ),
    Function(
        "int ANeuralNetworksMemoryDesc_addOutputRole(ANeuralNetworksMemoryDesc* desc, const ANeuralNetworksCompilation* compilation, uint32_t index, float frequency)",
        "desc.add_output_role(compilation, index, frequency)", 4,
        "The memory will be this output of this compilation, in this part (0, 1] of its runs.",
    ),
    Function(
        "int ANeuralNetworksMemoryDesc_setDimensions(ANeuralNetworksMemoryDesc* desc, uint32_t rank, const uint32_t* dimensions)",
        "desc.set_dimensions(dimensions)", 4,
        "What is known of the memory's dimensions; 0 is unknown.",
    ),
    Function(
        "int ANeuralNetworksMemoryDesc_finish(ANeuralNetworksMemoryDesc* desc)",
        "desc.finish()", 4,
        "Freeze a descriptor.",
    ),
    Function(
        "void ANeuralNetworksMemoryDesc_free(ANeuralNetworksMemoryDesc* desc)",
        "", 4,
        "Free a descriptor; null does nothing.",
    ),
    # Models
    Function(
        "int ANeuralNetworksModel_create(ANeuralNetworksModel** model)",
        "Model()", 1,
        "A new model without operands.",
    ),
    Function(
        "void ANeuralNetworksModel_free(ANeuralNetworksModel* model)",
        "", 1,
        "Free a model; null does nothing.",
    ),
    Function(
        "int ANeuralNetworksModel_addOperand(ANeuralNetworksModel* model, const ANeuralNetworksOperandType* type)",
        "model.add_operand(type)", 1,
        "Append an operand; its index is the number of operands added before.",
        guard="model.state.need('building', to='add an operand')",
    ),
    Function(
        "int ANeuralNetworksModel_setOperandValue(ANeuralNetworksModel* model, int32_t index, const void* buffer, size_t length)",
        "model.set_operand_value(index, buffer, length)", 1,
        "Make an operand a constant; null with length 0 omits it. Above 128 bytes the buffer must stay until finish.",
    ),
    Function(
        "int ANeuralNetworksModel_setOperandSymmPerChannelQuantParams(ANeuralNetworksModel* model, int32_t index, const ANeuralNetworksSymmPerChannelQuantParams* channelQuant)",
        "model.set_operand_symm_per_channel_quant_params(index, *channelQuant)", 3,
        "Give an operand of type TENSOR_QUANT8_SYMM_PER_CHANNEL its scales.",
    ),
    Function(
        "int ANeuralNetworksModel_setOperandValueFromMemory(ANeuralNetworksModel* model, int32_t index, const ANeuralNetworksMemory* memory, size_t offset, size_t length)",
        "model.set_operand_value_from_memory(index, memory, offset, length)", 1,
        "Make an operand a constant that lives in a memory.",
    ),
    Function(
        "int ANeuralNetworksModel_setOperandValueFromModel(ANeuralNetworksModel* model, int32_t index, const ANeuralNetworksModel* value)",
        "model.set_operand_value_from_model(index, value)", 4,
        "Let an operand of type MODEL refer to a finished model.",
    ),
    Function(
        "int ANeuralNetworksModel_setOperandExtensionData(ANeuralNetworksModel* model, int32_t index, const void* data, size_t length)",
        "model.set_operand_extension_data(index, data)", 3,
        "Give an operand of an extension's type parameters of its own.", EXTENSIONS,
    ),
    Function(
        "int ANeuralNetworksModel_addOperation(ANeuralNetworksModel* model, ANeuralNetworksOperationType type, uint32_t inputCount, const uint32_t* inputs, uint32_t outputCount, const uint32_t* outputs)",
        "model.add_operation(type, inputs, outputs)", 1,
        "Append an operation that reads and writes the operands of these indices.",
    ),
    Function(
        "int ANeuralNetworksModel_identifyInputsAndOutputs(ANeuralNetworksModel* model, uint32_t inputCount, const uint32_t* inputs, uint32_t outputCount, const uint32_t* outputs)",
        "model.identify_inputs_and_outputs(inputs, outputs)", 1,
        "Say which operands are the model's inputs and outputs.",
    ),
    Function(
        "int ANeuralNetworksModel_relaxComputationFloat32toFloat16(ANeuralNetworksModel* model, bool allow)",
        "model.relax_computation_float32_to_float16(allow)", 2,
        "Permit float32 to be computed with the range and precision of float16.",
    ),
    Function(
        "int ANeuralNetworksModel_finish(ANeuralNetworksModel* model)",
        "model.finish()", 1,
        "Check the model and freeze it.",
    ),
    Function(
        "int ANeuralNetworksModel_getSupportedOperationsForDevices(const ANeuralNetworksModel* model, const ANeuralNetworksDevice* const* devices, uint32_t numDevices, bool* supportedOps)",
        "model.supported_operations(devices)", 3,
        "For each operation, in the order it was added: can any of the devices run it?",
    ),
    Function(
        "int ANeuralNetworksModel_getExtensionOperandType(ANeuralNetworksModel* model, const char* extensionName, uint16_t operandCodeWithinExtension, int32_t* type)",
        "to_signed(model.extension_operand_type(extensionName, operandCodeWithinExtension))", 3,
        "Number of an operand type of an extension.", EXTENSIONS,
    ),
    Function(
        "int ANeuralNetworksModel_getExtensionOperationType(ANeuralNetworksModel* model, const char* extensionName, uint16_t operationCodeWithinExtension, ANeuralNetworksOperationType* type)",
        "to_signed(model.extension_operation_type(extensionName, operationCodeWithinExtension))", 3,
        "Number of an operation of an extension.", EXTENSIONS,
    ),
    # Compilations
    Function(
        "int ANeuralNetworksCompilation_create(ANeuralNetworksModel* model, ANeuralNetworksCompilation** compilation)",
        "Compilation(model)", 1,
        "A compilation for whatever devices the runtime chooses.",
    ),
    Function(
        "int ANeuralNetworksCompilation_createForDevices(ANeuralNetworksModel* model, const ANeuralNetworksDevice* const* devices, uint32_t numDevices, ANeuralNetworksCompilation** compilation)",
        "Compilation(model, devices)", 3,
        "A compilation for these devices only.",
    ),
    Function(
        "void ANeuralNetworksCompilation_free(ANeuralNetworksCompilation* compilation)",
        "", 1,
        "Free a compilation; null does nothing.",
    ),
    Function(
        "int ANeuralNetworksCompilation_setPreference(ANeuralNetworksCompilation* compilation, int32_t preference)",
        "compilation.set_preference(preference)", 1,
        "Low power, a fast single answer (the default) or sustained speed: a PreferenceCode.",
    ),
    Function(
        "int ANeuralNetworksCompilation_setPriority(ANeuralNetworksCompilation* compilation, int priority)",
        "compilation.set_priority(priority)", 4,
        "Whose turn it is first where several want a device: a PriorityCode.",
    ),
    Function(
        "int ANeuralNetworksCompilation_setTimeout(ANeuralNetworksCompilation* compilation, uint64_t duration)",
        "compilation.set_timeout(duration)", 4,
        "Nanoseconds that finish may take; 0 for no limit.",
    ),
    Function(
        "int ANeuralNetworksCompilation_setCaching(ANeuralNetworksCompilation* compilation, const char* cacheDir, const uint8_t* token)",
        "compilation.set_caching(cacheDir, token)", 3,
        "Keep what is prepared in a directory, under a token of ANEURALNETWORKS_BYTE_SIZE_OF_CACHE_TOKEN bytes.",
    ),
    Function(
        "int ANeuralNetworksCompilation_addExtensionAttribute(ANeuralNetworksCompilation* compilation, const char* extensionName, uint16_t attributeCodeWithinExtension, const void* data, size_t length)",
        "compilation.add_extension_attribute(extensionName, attributeCodeWithinExtension, data)", 8,
        "A hint to the one device of a compilation.", EXTENSIONS,
    ),
    Function(
        "int ANeuralNetworksCompilation_finish(ANeuralNetworksCompilation* compilation)",
        "compilation.finish()", 1,
        "Divide the model among the devices and prepare it there.",
    ),
    Function(
        "int ANeuralNetworksCompilation_getPreferredMemoryAlignmentForInput(const ANeuralNetworksCompilation* compilation, uint32_t index, uint32_t* alignment)",
        "compilation.preferred_memory_alignment_for_input(index)", 5,
        "Bytes to whose multiples the address of an input is best aligned.",
    ),
    Function(
        "int ANeuralNetworksCompilation_getPreferredMemoryPaddingForInput(const ANeuralNetworksCompilation* compilation, uint32_t index, uint32_t* padding)",
        "compilation.preferred_memory_padding_for_input(index)", 5,
        "Bytes to whose multiples the length of an input is best rounded up.",
    ),
    Function(
        "int ANeuralNetworksCompilation_getPreferredMemoryAlignmentForOutput(const ANeuralNetworksCompilation* compilation, uint32_t index, uint32_t* alignment)",
        "compilation.preferred_memory_alignment_for_output(index)", 5,
        "Bytes to whose multiples the address of an output is best aligned.",
    ),
    Function(
        "int ANeuralNetworksCompilation_getPreferredMemoryPaddingForOutput(const ANeuralNetworksCompilation* compilation, uint32_t index, uint32_t* padding)",
        "compilation.preferred_memory_padding_for_output(index)", 5,
        "Bytes to whose multiples the length of an output is best rounded up.",
    ),
    # Executions
    Function(
        "int ANeuralNetworksExecution_create(ANeuralNetworksCompilation* compilation, ANeuralNetworksExecution** execution)",
        "Execution(compilation)", 1,
        "An execution of a finished compilation.",
    ),
    Function(
        "void ANeuralNetworksExecution_free(ANeuralNetworksExecution* execution)",
        "need_idle(execution)", 1,
        "Free an execution that is not running; null does nothing.",
    ),
    Function(
        "int ANeuralNetworksExecution_setInput(ANeuralNetworksExecution* execution, int32_t index, const ANeuralNetworksOperandType* type, const void* buffer, size_t length)",
        "execution.set_input(index, buffer, type, length)", 1,
        "Bind a buffer to an input; null with length 0 omits it. A type, if given, completes the dimensions.",
        guard="execution.state.need('preparation', to='set an input')", nullable=("type",),
    ),
    Function(
        "int ANeuralNetworksExecution_setInputFromMemory(ANeuralNetworksExecution* execution, int32_t index, const ANeuralNetworksOperandType* type, const ANeuralNetworksMemory* memory, size_t offset, size_t length)",
        "execution.set_input_from_memory(index, memory, offset, length, type)", 1,
        "Bind part of a memory to an input.",
        guard="execution.state.need('preparation', to='set an input')", nullable=("type",),
    ),
    Function(
        "int ANeuralNetworksExecution_setOutput(ANeuralNetworksExecution* execution, int32_t index, const ANeuralNetworksOperandType* type, void* buffer, size_t length)",
        "execution.set_output(index, buffer, type, length)", 1,
        "Bind a buffer to an output; null with length 0 omits it.",
        guard="execution.state.need('preparation', to='set an output')", nullable=("type",),
    ),
    Function(
        "int ANeuralNetworksExecution_setOutputFromMemory(ANeuralNetworksExecution* execution, int32_t index, const ANeuralNetworksOperandType* type, const ANeuralNetworksMemory* memory, size_t offset, size_t length)",
        "execution.set_output_from_memory(index, memory, offset, length, type)", 1,
        "Bind part of a memory to an output.",
        guard="execution.state.need('preparation', to='set an output')", nullable=("type",),
    ),
    Function(
        "int ANeuralNetworksExecution_setTimeout(ANeuralNetworksExecution* execution, uint64_t duration)",
        "execution.set_timeout(duration)", 4,
        "Nanoseconds that the computation may take; 0 for no limit.",
    ),
    Function(
        "int ANeuralNetworksExecution_setLoopTimeout(ANeuralNetworksExecution* execution, uint64_t duration)",
        "execution.set_loop_timeout(duration)", 4,
        "Nanoseconds that each WHILE may run.",
    ),
    Function(
        "int ANeuralNetworksExecution_setMeasureTiming(ANeuralNetworksExecution* execution, bool measure)",
        "execution.set_measure_timing(measure)", 3,
        "Ask the one device to time the computation.",
    ),
    Function(
        "int ANeuralNetworksExecution_setReusable(ANeuralNetworksExecution* execution, bool reusable)",
        "execution.set_reusable(reusable)", 5,
        "Permit several computations, one after the other.",
    ),
    Function(
        "int ANeuralNetworksExecution_enableInputAndOutputPadding(ANeuralNetworksExecution* execution, bool enable)",
        "execution.enable_input_and_output_padding(enable)", 5,
        "Permit buffers that are longer than their values.",
    ),
    Function(
        "int ANeuralNetworksExecution_addExtensionAttribute(ANeuralNetworksExecution* execution, const char* extensionName, uint16_t attributeCodeWithinExtension, const void* data, size_t length)",
        "execution.add_extension_attribute(extensionName, attributeCodeWithinExtension, data)", 8,
        "A hint to the one device of an execution.", EXTENSIONS,
    ),
    Function(
        "int ANeuralNetworksExecution_compute(ANeuralNetworksExecution* execution)",
        "execution.compute()", 3,
        "Run, and wait for the end.",
    ),
    Function(
        "int ANeuralNetworksExecution_burstCompute(ANeuralNetworksExecution* execution, ANeuralNetworksBurst* burst)",
        "execution.burst_compute(burst)", 3,
        "Run as part of a burst, and wait for the end.",
    ),
    Function(
        "int ANeuralNetworksExecution_startCompute(ANeuralNetworksExecution* execution, ANeuralNetworksEvent** event)",
        "execution.start_compute()", 1,
        "Run in the background; the event brings the end.",
    ),
    Function(
        "int ANeuralNetworksExecution_startComputeWithDependencies(ANeuralNetworksExecution* execution, const ANeuralNetworksEvent* const* dependencies, uint32_t num_dependencies, uint64_t duration, ANeuralNetworksEvent** event)",
        "execution.start_compute_with_dependencies(dependencies, duration)", 4,
        "Run once other events have happened, within so many nanoseconds from then; 0 for no limit.",
    ),
    Function(
        "int ANeuralNetworksExecution_getOutputOperandRank(ANeuralNetworksExecution* execution, int32_t index, uint32_t* rank)",
        "execution.output_operand_rank(index)", 3,
        "Rank of an output, once computed.",
        otherwise={OUTPUT_INSUFFICIENT_SIZE: "len(error.dimensions)"},
    ),
    Function(
        "int ANeuralNetworksExecution_getOutputOperandDimensions(ANeuralNetworksExecution* execution, int32_t index, uint32_t* dimensions)",
        "execution.output_operand_dimensions(index)", 3,
        "Dimensions of an output, once computed; there must be room for as many as its rank.",
        otherwise={OUTPUT_INSUFFICIENT_SIZE: "error.dimensions"},
    ),
    Function(
        "int ANeuralNetworksExecution_getDuration(const ANeuralNetworksExecution* execution, int32_t durationCode, uint64_t* duration)",
        "to_timing(execution.duration(durationCode))", 3,
        "Nanoseconds that the computation took, by DurationCode; UINT64_MAX where nothing was measured.",
        otherwise={BAD_STATE: str(NO_TIMING)},
    ),
    # Bursts and events
    Function(
        "int ANeuralNetworksBurst_create(ANeuralNetworksCompilation* compilation, ANeuralNetworksBurst** burst)",
        "Burst(compilation)", 3,
        "For computations of one compilation in quick succession.",
    ),
    Function(
        "void ANeuralNetworksBurst_free(ANeuralNetworksBurst* burst)",
        "burst.close()", 3,
        "Free a burst; null does nothing.",
    ),
    Function(
        "int ANeuralNetworksEvent_wait(ANeuralNetworksEvent* event)",
        "event.wait()", 1,
        "Wait for the end of a computation, and give its result.",
    ),
    Function(
        "void ANeuralNetworksEvent_free(ANeuralNetworksEvent* event)",
        "event.close()", 1,
        "Wait for the end and free the event; null does nothing.",
    ),
    Function(
        "int ANeuralNetworksEvent_createFromSyncFenceFd(int sync_fence_fd, ANeuralNetworksEvent** event)",
        "Event.from_sync_fence_fd(sync_fence_fd)", 4,
        "An event that happens when a descriptor can be read. The descriptor is duplicated.",
    ),
    Function(
        "int ANeuralNetworksEvent_getSyncFenceFd(const ANeuralNetworksEvent* event, int* sync_fence_fd)",
        "event.sync_fence_fd()", 4,
        "A duplicate of an event's descriptor, to be closed by the caller; -1 where it has none.",
        otherwise={UNEXPECTED_NULL: "-1", BAD_DATA: "-1"},
    ),
    # Hardware buffers: not NNAPI, but its clients call them. They answer 0 or a negative errno.
    Function(
        "int AHardwareBuffer_allocate(const AHardwareBuffer_Desc* desc, AHardwareBuffer** outBuffer)",
        "HardwareBuffer(*desc)", None,
        "A new buffer, of format BLOB or R8G8B8A8_UNORM, held once.", HARDWARE_BUFFER, failure=-EINVAL,
    ),
    Function(
        "void AHardwareBuffer_acquire(AHardwareBuffer* buffer)",
        "hold(handle, 1)", None,
        "Hold a buffer once more.", HARDWARE_BUFFER,
    ),
    Function(
        "void AHardwareBuffer_release(AHardwareBuffer* buffer)",
        "hold(handle, -1)", None,
        "Hold a buffer once less; the last to do so frees it.", HARDWARE_BUFFER,
    ),
    Function(
        "void AHardwareBuffer_describe(const AHardwareBuffer* buffer, AHardwareBuffer_Desc* outDesc)",
        "describe(buffer, outDesc)", None,
        "What a buffer was allocated as.", HARDWARE_BUFFER,
    ),
    Function(
        "int AHardwareBuffer_lock(AHardwareBuffer* buffer, uint64_t usage, int32_t fence, const ARect* rect, void** outVirtualAddress)",
        "address(buffer.lock())", None,
        "The address of a buffer's bytes, for the CPU until it is unlocked.", HARDWARE_BUFFER,
        nullable=("rect",), failure=-EINVAL,
    ),
    Function(
        "int AHardwareBuffer_unlock(AHardwareBuffer* buffer, int32_t* fence)",
        "unlock(buffer)", None,
        "End what lock began; the fence, if asked for, is -1: there is nothing to wait for.", HARDWARE_BUFFER,
        nullable=("fence",), failure=-EINVAL,
    ),
    # Sections of a trace: not NNAPI either, but how its clients say what they are doing
    Function(
        "bool ATrace_isEnabled(void)",
        "is_enabled()", None,
        "Are sections being recorded, by NNAPI_TRACE or a Python program around the client?", TRACE, failure=0,
    ),
    Function(
        "void ATrace_beginSection(const char* sectionName)",
        "begin_section(sectionName)", None,
        "Begin a section on this thread. [NN_LA_PI], [NN_LA_PP], [NN_LA_PC] and [NN_LA_PE] in front of its name say "
        "that it initializes, prepares, compiles or executes.", TRACE,
    ),
    Function(
        "void ATrace_endSection(void)",
        "end_section()", None,
        "End the section that this thread began last.", TRACE,
    ),
    Function(
        "void ATrace_beginAsyncSection(const char* sectionName, int32_t cookie)",
        "begin_async_section(sectionName, cookie)", None,
        "Begin a section that may end on another thread; the cookie tells apart those of one name.", TRACE,
    ),
    Function(
        "void ATrace_endAsyncSection(const char* sectionName, int32_t cookie)",
        "end_async_section(sectionName, cookie)", None,
        "End the section of that name and cookie.", TRACE,
    ),
    # What a support library has besides
    *SUPPORT,
)
# fmt: on
