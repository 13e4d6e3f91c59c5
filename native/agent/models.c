/* Devices, constants and models. */

#include "objects.h"

static const char *const SHORT = "the message ends too early";
enum value { NO_CONSTANT, OMITTED, CONSTANT, SUBGRAPH };

static uint32_t device_count;
static ANeuralNetworksDevice *devices[MOST_DEVICES];

static int find_devices(void) {
    if (device_count) return 0;
    uint32_t found = 0;
    CALL(_getDeviceCount, &found);
    if (found > MOST_DEVICES) return fail(OP_FAILED, "the library lists more devices than are possible");
    for (uint32_t i = 0; i < found; i++) {
        CALL(_getDevice, i, &devices[i]);
        if (!devices[i]) return fail(OP_FAILED, "ANeuralNetworks_getDevice gives no error and no device");
    }
    device_count = found;
    return 0;
}

ANeuralNetworksDevice *find_device(uint32_t index) {
    return !find_devices() && index < device_count ? devices[index] : NULL;
}

int list_devices(struct writer *answer) {
    int code = find_devices();
    if (code) return code;
    write_word(answer, device_count);
    for (uint32_t i = 0; i < device_count; i++) {
        const char *name = NULL, *version = NULL;
        int32_t type = 0;
        int64_t level = 0;
        CALL(Device_getName, devices[i], &name);
        CALL(Device_getVersion, devices[i], &version);
        CALL(Device_getType, devices[i], &type);
        CALL(Device_getFeatureLevel, devices[i], &level);
        write_word(answer, type);
        write_long(answer, level);
        write_text(answer, name);
        write_text(answer, version);
    }
    return 0;
}

int make_constants(struct message *message, struct writer *answer) {
    uint32_t number = add(IS_CONSTANTS);
    if (!number) return fail(OUT_OF_MEMORY, "there are too many objects");
    struct object *object = find(number, IS_CONSTANTS);
    object->data = claim_data(message), object->size = message->header.data;
    write_word(answer, number);
    return 0;
}

static int set_constant(uint32_t number, int32_t index, uint32_t source, uint64_t offset, uint64_t length) {
    struct object *constants = find(source, IS_CONSTANTS);
    if (!constants) return fail(BAD_DATA, "there are no such constants");
    if (offset > constants->size || length > constants->size - offset)
        return fail(BAD_DATA, "a value lies outside its constants");
    if (!need(number, source)) return fail(OUT_OF_MEMORY, "there is no memory");
    CALL(Model_setOperandValue, find(number, IS_MODEL)->handle, index, constants->data + offset, length);
    return 0;
}

static int set_subgraph(uint32_t number, int32_t index, uint32_t source) {
    struct object *referred = find(source, IS_MODEL);
    if (!referred || source == number) return fail(BAD_DATA, "there is no such model");
    if (!library.Model_setOperandValueFromModel)
        return fail(OP_FAILED, "it has no ANeuralNetworksModel_setOperandValueFromModel");
    if (!need(number, source)) return fail(OUT_OF_MEMORY, "there is no memory");
    CALL(Model_setOperandValueFromModel, find(number, IS_MODEL)->handle, index, referred->handle);
    return 0;
}

/* Read and add an operand: type, scale, zero point, dimensions; the kind of its value; axis and number of per-channel
   scales, and the scales. */
static int add_operand(uint32_t number, int32_t index, struct reader *reader, struct reader *sources) {
    void *model = find(number, IS_MODEL)->handle;
    ANeuralNetworksOperandType type = {.type = read_word(reader)};
    uint32_t scale = read_word(reader);
    memcpy(&type.scale, &scale, sizeof scale);
    type.zeroPoint = read_word(reader), type.dimensionCount = read_word(reader);
    type.dimensions = read_words(reader, type.dimensionCount);
    uint32_t value = read_word(reader), source = read_word(sources);
    uint64_t offset = read_long(sources), length = read_long(sources);
    ANeuralNetworksSymmPerChannelQuantParams channel = {.channelDim = read_word(reader)};
    channel.scaleCount = read_word(reader);
    channel.scales = read_words(reader, channel.scaleCount);
    if (reader->is_short) return fail(BAD_DATA, SHORT);
    CALL(Model_addOperand, model, &type);
    if (channel.scaleCount) CALL(Model_setOperandSymmPerChannelQuantParams, model, index, &channel);
    if (value == OMITTED) CALL(Model_setOperandValue, model, index, NULL, 0);
    if (value == CONSTANT) return set_constant(number, index, source, offset, length);
    if (value == SUBGRAPH) return set_subgraph(number, index, source);
    return 0;
}

struct list { uint32_t count; const uint32_t *items; };

static struct list read_list(struct reader *reader) {
    struct list list = {read_word(reader), NULL};
    list.items = read_words(reader, list.count);
    return list;
}

/* Read and make a model: numbers of operands and operations, and whether the precision is relaxed; inputs; outputs; for
   each operand the source of its value (an object's number, offset and length); the operands; the operations. */
static int fill(uint32_t number, struct reader *reader) {
    uint32_t operands = read_word(reader), operations = read_word(reader), is_relaxed = read_word(reader);
    struct list inputs = read_list(reader), outputs = read_list(reader);
    struct reader sources = *reader;
    read_words(reader, (uint64_t)operands * 5);
    if (reader->is_short) return fail(BAD_DATA, SHORT);
    ANeuralNetworksModel *model = NULL;
    CALL(Model_create, &model);
    if (!model) return fail(OP_FAILED, "ANeuralNetworksModel_create gives no error and no model");
    struct object *object = find(number, IS_MODEL);
    object->handle = model, object->operations = operations;
    object->inputs = inputs.count, object->outputs = outputs.count;
    for (uint32_t i = 0; i < operands; i++) {
        int code = add_operand(number, i, reader, &sources);
        if (code) return code;
    }
    for (uint32_t i = 0; i < operations; i++) {
        uint32_t type = read_word(reader);
        struct list reads = read_list(reader), writes = read_list(reader);
        if (reader->is_short) return fail(BAD_DATA, SHORT);
        CALL(Model_addOperation, model, type, reads.count, reads.items, writes.count, writes.items);
    }
    CALL(Model_identifyInputsAndOutputs, model, inputs.count, inputs.items, outputs.count, outputs.items);
    if (is_relaxed) CALL(Model_relaxComputationFloat32toFloat16, model, true);
    CALL(Model_finish, model);
    return 0;
}

int make_model(struct reader *reader, struct writer *answer) {
    uint32_t number = add(IS_MODEL);
    if (!number) return fail(OUT_OF_MEMORY, "there are too many objects");
    int code = fill(number, reader);
    if (code) release(number);
    else write_word(answer, number);
    return code;
}

int ask_supported(struct reader *reader, struct writer *answer) {
    struct object *model = find(read_word(reader), IS_MODEL);
    const ANeuralNetworksDevice *device = find_device(read_word(reader));
    if (!model || !device) return fail(BAD_DATA, "there is no such model or device");
    bool *supported = calloc(model->operations + (size_t)1, sizeof *supported);
    if (!supported) return fail(OUT_OF_MEMORY, "there is no memory");
    int code = library.Model_getSupportedOperationsForDevices(model->handle, &device, 1, supported);
    for (uint32_t i = 0; !code && i < model->operations; i++) write_word(answer, ((uint8_t *)supported)[i] != 0);
    free(supported);
    return code ? fail(code, "ANeuralNetworksModel_getSupportedOperationsForDevices") : 0;
}
