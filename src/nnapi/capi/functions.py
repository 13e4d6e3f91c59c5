"""The exported functions: one row per prototype of the headers, with the Python expression that implements it.

This module imports only :mod:`.prototype`, because the C build reads it before the package is installed.
"""

from nnapi.capi.prototype import PROTOTYPES, Function

UNEXPECTED_NULL, BAD_DATA, BAD_STATE, OUTPUT_INSUFFICIENT_SIZE = 3, 4, 6, 8
NO_TIMING = 2**64 - 1
EINVAL = 22

DIAGNOSED = {
    "getSessionId": "session",
    "getNnApiVersion": "version",
    "getModelArchHash": "hash",
    "getDeviceIds": "devices",
    "getErrorCode": "error",
    "getExecutionMode": "mode",
    "getInputDataClass": "input_class",
    "getOutputDataClass": "output_class",
    "getCompilationTimeNanos": "times[0]",
    "getRuntimeExecutionTimeNanos": "times[0]",
    "getDriverExecutionTimeNanos": "times[1]",
    "getHardwareExecutionTimeNanos": "times[2]",
    "isCachingEnabled": "caching",
    "isControlFlowUsed": "control_flow",
    "areDynamicTensorsUsed": "dynamic",
}
"""The member of ``struct nnapi_diagnosis`` that each getter of a callback's argument returns."""


def _getters(kind: str) -> list[Function]:
    prefix = f"SL_ANeuralNetworksDiagnostic{kind}Info_"
    return [
        Function(name, answer=f"DIAGNOSED(diagnostic{kind}Info, {DIAGNOSED[name.removeprefix(prefix)]})")
        for name in PROTOTYPES
        if name.startswith(prefix)
    ]


FUNCTIONS = (
    # Runtime and devices
    Function("ANeuralNetworks_getRuntimeFeatureLevel", answer="ANEURALNETWORKS_FEATURE_LEVEL_8"),
    Function("ANeuralNetworks_getDeviceCount", "len(devices_here())"),
    Function("ANeuralNetworks_getDevice", "device_at(devIndex)"),
    Function("ANeuralNetworksDevice_getName", "device.name"),
    Function("ANeuralNetworksDevice_getType", "device.type"),
    Function("ANeuralNetworksDevice_getVersion", "device.version"),
    Function("ANeuralNetworksDevice_getFeatureLevel", "device.feature_level"),
    Function("ANeuralNetworksDevice_wait", "device.wait()"),
    Function("ANeuralNetworksDevice_getExtensionSupport", "extensionName in device.extensions"),
    Function("ANeuralNetworks_getDefaultLoopTimeout", answer="2000000000u"),
    Function("ANeuralNetworks_getMaximumLoopTimeout", answer="15000000000u"),
    # Memory
    Function("ANeuralNetworksMemory_createFromFd", "Memory.from_fd(size, protect, fd, offset)"),
    Function("ANeuralNetworksMemory_createFromAHardwareBuffer", "ahwb.memory()"),
    Function("ANeuralNetworksMemory_createFromDesc", "desc.create_memory()"),
    Function("ANeuralNetworksMemory_copy", "copy_memory(src, dst)"),
    Function("ANeuralNetworksMemory_free"),
    Function("ANeuralNetworksMemoryDesc_create", "MemoryDesc()"),
    Function("ANeuralNetworksMemoryDesc_addInputRole", "desc.add_input_role(compilation, index, frequency)"),
    Function("ANeuralNetworksMemoryDesc_addOutputRole", "desc.add_output_role(compilation, index, frequency)"),
    Function("ANeuralNetworksMemoryDesc_setDimensions", "desc.set_dimensions(dimensions)"),
    Function("ANeuralNetworksMemoryDesc_finish", "desc.finish()"),
    Function("ANeuralNetworksMemoryDesc_free"),
    # Models
    Function("ANeuralNetworksModel_create", "Model()"),
    Function("ANeuralNetworksModel_free"),
    Function(
        "ANeuralNetworksModel_addOperand",
        "model.add_operand(type)",
        guard="model.state.need('building', to='add an operand')",
    ),
    Function("ANeuralNetworksModel_setOperandValue", "model.set_operand_value(index, buffer, length)"),
    Function(
        "ANeuralNetworksModel_setOperandSymmPerChannelQuantParams",
        "model.set_operand_symm_per_channel_quant_params(index, *channelQuant)",
    ),
    Function(
        "ANeuralNetworksModel_setOperandValueFromMemory",
        "model.set_operand_value_from_memory(index, memory, offset, length)",
    ),
    Function("ANeuralNetworksModel_setOperandValueFromModel", "model.set_operand_value_from_model(index, value)"),
    Function("ANeuralNetworksModel_setOperandExtensionData", "model.set_operand_extension_data(index, data)"),
    Function("ANeuralNetworksModel_addOperation", "model.add_operation(type, inputs, outputs)"),
    Function("ANeuralNetworksModel_identifyInputsAndOutputs", "model.identify_inputs_and_outputs(inputs, outputs)"),
    Function(
        "ANeuralNetworksModel_relaxComputationFloat32toFloat16", "model.relax_computation_float32_to_float16(allow)"
    ),
    Function("ANeuralNetworksModel_finish", "model.finish()"),
    Function("ANeuralNetworksModel_getSupportedOperationsForDevices", "model.supported_operations(devices)"),
    Function(
        "ANeuralNetworksModel_getExtensionOperandType",
        "to_signed(model.extension_operand_type(extensionName, operandCodeWithinExtension))",
    ),
    Function(
        "ANeuralNetworksModel_getExtensionOperationType",
        "to_signed(model.extension_operation_type(extensionName, operationCodeWithinExtension))",
    ),
    # Compilations
    Function("ANeuralNetworksCompilation_create", "Compilation(model)"),
    Function("ANeuralNetworksCompilation_createForDevices", "Compilation(model, devices)"),
    Function("ANeuralNetworksCompilation_free"),
    Function("ANeuralNetworksCompilation_setPreference", "compilation.set_preference(preference)"),
    Function("ANeuralNetworksCompilation_setPriority", "compilation.set_priority(priority)"),
    Function("ANeuralNetworksCompilation_setTimeout", "compilation.set_timeout(duration)"),
    Function("ANeuralNetworksCompilation_setCaching", "compilation.set_caching(cacheDir, token)"),
    Function(
        "ANeuralNetworksCompilation_addExtensionAttribute",
        "compilation.add_extension_attribute(extensionName, attributeCodeWithinExtension, data)",
    ),
    Function("ANeuralNetworksCompilation_finish", "compilation.finish()"),
    Function(
        "ANeuralNetworksCompilation_getPreferredMemoryAlignmentForInput",
        "compilation.preferred_memory_alignment_for_input(index)",
    ),
    Function(
        "ANeuralNetworksCompilation_getPreferredMemoryPaddingForInput",
        "compilation.preferred_memory_padding_for_input(index)",
    ),
    Function(
        "ANeuralNetworksCompilation_getPreferredMemoryAlignmentForOutput",
        "compilation.preferred_memory_alignment_for_output(index)",
    ),
    Function(
        "ANeuralNetworksCompilation_getPreferredMemoryPaddingForOutput",
        "compilation.preferred_memory_padding_for_output(index)",
    ),
    # Executions
    Function("ANeuralNetworksExecution_create", "Execution(compilation)"),
    Function("ANeuralNetworksExecution_free", "need_idle(execution)"),
    Function(
        "ANeuralNetworksExecution_setInput",
        "execution.set_input(index, buffer, type, length)",
        guard="execution.state.need('preparation', to='set an input')",
        nullable=("type",),
    ),
    Function(
        "ANeuralNetworksExecution_setInputFromMemory",
        "execution.set_input_from_memory(index, memory, offset, length, type)",
        guard="execution.state.need('preparation', to='set an input')",
        nullable=("type",),
    ),
    Function(
        "ANeuralNetworksExecution_setOutput",
        "execution.set_output(index, buffer, type, length)",
        guard="execution.state.need('preparation', to='set an output')",
        nullable=("type",),
    ),
    Function(
        "ANeuralNetworksExecution_setOutputFromMemory",
        "execution.set_output_from_memory(index, memory, offset, length, type)",
        guard="execution.state.need('preparation', to='set an output')",
        nullable=("type",),
    ),
    Function("ANeuralNetworksExecution_setTimeout", "execution.set_timeout(duration)"),
    Function("ANeuralNetworksExecution_setLoopTimeout", "execution.set_loop_timeout(duration)"),
    Function("ANeuralNetworksExecution_setMeasureTiming", "execution.set_measure_timing(measure)"),
    Function("ANeuralNetworksExecution_setReusable", "execution.set_reusable(reusable)"),
    Function(
        "ANeuralNetworksExecution_enableInputAndOutputPadding", "execution.enable_input_and_output_padding(enable)"
    ),
    Function(
        "ANeuralNetworksExecution_addExtensionAttribute",
        "execution.add_extension_attribute(extensionName, attributeCodeWithinExtension, data)",
    ),
    Function("ANeuralNetworksExecution_compute", "execution.compute()"),
    Function("ANeuralNetworksExecution_burstCompute", "execution.burst_compute(burst)"),
    Function("ANeuralNetworksExecution_startCompute", "execution.start_compute()"),
    Function(
        "ANeuralNetworksExecution_startComputeWithDependencies",
        "execution.start_compute_with_dependencies(dependencies, duration)",
    ),
    Function(
        "ANeuralNetworksExecution_getOutputOperandRank",
        "execution.output_operand_rank(index)",
        otherwise={OUTPUT_INSUFFICIENT_SIZE: "len(error.dimensions)"},
    ),
    Function(
        "ANeuralNetworksExecution_getOutputOperandDimensions",
        "execution.output_operand_dimensions(index)",
        otherwise={OUTPUT_INSUFFICIENT_SIZE: "error.dimensions"},
    ),
    Function(
        "ANeuralNetworksExecution_getDuration",
        "to_timing(execution.duration(durationCode))",
        otherwise={BAD_STATE: str(NO_TIMING)},
    ),
    # Bursts and events
    Function("ANeuralNetworksBurst_create", "Burst(compilation)"),
    Function("ANeuralNetworksBurst_free", "burst.close()"),
    Function("ANeuralNetworksEvent_wait", "event.wait()"),
    Function("ANeuralNetworksEvent_free", "event.close()"),
    Function("ANeuralNetworksEvent_createFromSyncFenceFd", "Event.from_sync_fence_fd(sync_fence_fd)"),
    Function(
        "ANeuralNetworksEvent_getSyncFenceFd",
        "event.sync_fence_fd()",
        otherwise={UNEXPECTED_NULL: "-1", BAD_DATA: "-1"},
    ),
    # Hardware buffers: not part of NNAPI, but its clients call them. They return 0 or a negative errno.
    Function("AHardwareBuffer_allocate", "HardwareBuffer(*desc)", failure=-EINVAL),
    Function("AHardwareBuffer_acquire", "hold(handle, 1)"),
    Function("AHardwareBuffer_release", "hold(handle, -1)"),
    Function("AHardwareBuffer_describe", "describe(buffer, outDesc)"),
    Function("AHardwareBuffer_lock", "ffi.from_buffer(buffer.lock())", nullable=("rect",), failure=-EINVAL),
    Function("AHardwareBuffer_unlock", "unlock(buffer)", nullable=("fence",), failure=-EINVAL),
    # Sections of a trace: not part of NNAPI either, but its clients call them
    Function("ATrace_isEnabled", "is_enabled()", failure=0),
    Function("ATrace_beginSection", "begin_section(sectionName)"),
    Function("ATrace_endSection", "end_section()"),
    Function("ATrace_beginAsyncSection", "begin_async_section(sectionName, cookie)"),
    Function("ATrace_endAsyncSection", "end_async_section(sectionName, cookie)"),
    # Only for clients that load a support library
    Function(
        "SL_ANeuralNetworksCompilation_setCachingFromFds",
        "cache_in_descriptors(compilation, numModelCacheFiles + numDataCacheFiles)",
        nullable=("modelCacheFds", "dataCacheFds", "token"),
    ),
    Function("SL_ANeuralNetworksDevice_getNumberOfCacheFilesNeeded", "no_cache_files(numDataCacheFiles)"),
    Function(
        "SL_ANeuralNetworksDevice_getPerformanceInfo", "performance(device, performanceInfoKind, performanceInfo)"
    ),
    Function(
        "SL_ANeuralNetworksDevice_forEachOperandPerformanceInfo",
        "each_performance(device, context, callback)",
        nullable=("context",),
    ),
    Function("SL_ANeuralNetworksDevice_getVendorExtensionCount", "len(device.extensions)"),
    Function("SL_ANeuralNetworksDevice_getVendorExtensionName", "extension_at(device, vendorExtensionIndex).name"),
    Function(
        "SL_ANeuralNetworksDevice_forEachVendorExtensionOperandTypeInformation",
        "each_extension_type(device, vendorExtensionIndex, context, callback)",
        nullable=("context",),
    ),
    *_getters("Compilation"),
    *_getters("Execution"),
    Function(
        "SL_ANeuralNetworksDiagnostic_registerCallbacks",
        "register_callbacks(compilationCallback, executionCallback, callbackContext)",
        nullable=("callbackContext",),
    ),
)
