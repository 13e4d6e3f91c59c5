/* Compilations, bursts and runs. */

#include "objects.h"

const char *cache_folder;

/* Read the rest of a request to compile and do it: preference, priority; time limit; whether a token follows; its 32
   bytes. */
static int fill(struct object *object, struct object *model, const ANeuralNetworksDevice *device, struct reader *reader) {
    int32_t preference = read_word(reader), priority = read_word(reader);
    uint64_t limit = read_long(reader);
    const uint8_t *token = read_word(reader) ? read_words(reader, TOKEN / 4) : NULL;
    if (reader->is_short) return fail(BAD_DATA, "the message ends too early");
    ANeuralNetworksCompilation *made = NULL;
    CALL(Compilation_createForDevices, model->handle, &device, 1, &made);
    object->handle = made;
    if (!made) return fail(OP_FAILED, "ANeuralNetworksCompilation_createForDevices gives nothing");
    CALL(Compilation_setPreference, object->handle, preference);
    if (library.Compilation_setPriority) CALL(Compilation_setPriority, object->handle, priority);
    if (limit && library.Compilation_setTimeout) CALL(Compilation_setTimeout, object->handle, limit);
    if (token && cache_folder && library.Compilation_setCaching)
        CALL(Compilation_setCaching, object->handle, cache_folder, token);
    CALL(Compilation_finish, object->handle);
    return 0;
}

int compile(struct reader *reader, struct writer *answer) {
    uint32_t source = read_word(reader), number = add(IS_COMPILATION);
    if (!number) return fail(OUT_OF_MEMORY, "there are too many objects");
    struct object *model = find(source, IS_MODEL), *object = find(number, IS_COMPILATION);
    const ANeuralNetworksDevice *device = find_device(read_word(reader));
    int code = fail(BAD_DATA, "there is no such model or device");
    if (model && device && !need(number, source)) code = fail(OUT_OF_MEMORY, "there is no memory");
    else if (model && device) code = fill(object, model, device, reader);
    if (code) {
        release(number);
        return code;
    }
    object->inputs = model->inputs, object->outputs = model->outputs;
    write_word(answer, number);
    return 0;
}

int make_burst(struct reader *reader, struct writer *answer) {
    uint32_t source = read_word(reader), number = add(IS_BURST);
    if (!number) return fail(OUT_OF_MEMORY, "there are too many objects");
    struct object *compilation = find(source, IS_COMPILATION);
    int code = fail(BAD_DATA, "there is no such compilation, or the library has no bursts");
    if (compilation && library.Burst_create && library.Burst_free && library.Execution_burstCompute) {
        ANeuralNetworksBurst *made = NULL;
        code = library.Burst_create(compilation->handle, &made);
        find(number, IS_BURST)->handle = made;
        if (code) fail(code, "ANeuralNetworksBurst_create");
        else if (!need(number, source)) code = fail(OUT_OF_MEMORY, "there is no memory");
    }
    if (code) release(number);
    else write_word(answer, number);
    return code;
}

/* Read and set an input: whether it has a value; offset and length in the data; whether a type follows; the type: type
   code, scale, zero point, rank, dimensions. */
static int set_input(void *execution, int32_t index, struct reader *reader, struct message *message) {
    uint32_t is_given = read_word(reader);
    uint64_t offset = read_long(reader), length = read_long(reader);
    bool has_type = read_word(reader);
    ANeuralNetworksOperandType type = {0};
    if (has_type) {
        type.type = read_word(reader);
        uint32_t scale = read_word(reader);
        memcpy(&type.scale, &scale, sizeof scale);
        type.zeroPoint = read_word(reader), type.dimensionCount = read_word(reader);
        type.dimensions = read_words(reader, type.dimensionCount);
    }
    if (reader->is_short || offset > message->header.data || length > message->header.data - offset)
        return fail(BAD_DATA, "an input lies outside the message");
    void *value = is_given ? message->data + offset : NULL;
    CALL(Execution_setInput, execution, index, has_type ? &type : NULL, value, is_given ? length : 0);
    return 0;
}

/* Set the outputs to memory of the compilation or burst, each at the next multiple of ALIGNMENT. */
static int set_outputs(struct object *object, uint32_t count, struct reader *lengths) {
    struct reader again = *lengths;
    struct run *run = &object->run;
    size_t size = 0, at = 0;
    for (uint32_t i = 0; i < count; i++) {
        read_word(&again);
        uint64_t length = read_long(&again);
        if (again.is_short || length > MOST_DATA - size) return fail(BAD_DATA, "the outputs are too large");
        size += (length + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT; /* MOST_DATA is a multiple of it too */
    }
    run->outputs_size = size;
    if (object->size < size || object->size > 2 * size + (1 << 20)) {
        void *made = NULL;
        free(object->data);
        object->data = NULL, object->size = 0;
        if (posix_memalign(&made, ALIGNMENT, size)) return fail(OUT_OF_MEMORY, "there is no memory for the outputs");
        object->data = memset(made, 0, size); /* so that bytes that the library leaves unwritten send nothing of this process */
        object->size = size;
    }
    for (uint32_t i = 0; i < count; i++) {
        read_word(lengths);
        uint64_t length = read_long(lengths);
        CALL(Execution_setOutput, run->execution, i, NULL, object->data + at, length);
        at += (length + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    }
    return 0;
}

static int write_shape(void *execution, int32_t index, struct writer *answer) {
    uint32_t rank = 0, dimensions[MOST_RANK] = {0};
    int code = library.Execution_getOutputOperandRank(execution, index, &rank);
    if (code && code != OUTPUT_INSUFFICIENT_SIZE) return fail(code, "ANeuralNetworksExecution_getOutputOperandRank");
    write_word(answer, rank);
    if (!rank || rank > MOST_RANK) return 0; /* the client reports a rank that is too large */
    code = library.Execution_getOutputOperandDimensions(execution, index, dimensions);
    if (code && code != OUTPUT_INSUFFICIENT_SIZE)
        return fail(code, "ANeuralNetworksExecution_getOutputOperandDimensions");
    write_bytes(answer, dimensions, rank * sizeof *dimensions);
    return 0;
}

static uint64_t find_duration(void *execution, int32_t which) {
    uint64_t found = UINT64_MAX;
    return !library.Execution_getDuration(execution, which, &found) ? found : UINT64_MAX;
}

/* Read a request to run and set an execution up: whether to measure; numbers of inputs and outputs; time limit; time limit
   of loops; the inputs; for each output, whether to return its shape, and its length. */
static int begin(struct object *object, struct object *compilation, struct message *message) {
    struct reader *reader = &message->head;
    struct run *run = &object->run;
    const uint8_t *start = reader->at;
    run->is_measured = read_word(reader) && library.Execution_setMeasureTiming && library.Execution_getDuration;
    uint32_t input_count = read_word(reader), output_count = read_word(reader);
    uint64_t limit = read_long(reader), loop_limit = read_long(reader);
    if (input_count != compilation->inputs || output_count != compilation->outputs)
        return fail(BAD_DATA, "the model has another number of inputs or outputs");
    ANeuralNetworksExecution *execution = NULL;
    CALL(Execution_create, compilation->handle, &execution);
    if (!execution) return fail(OP_FAILED, "ANeuralNetworksExecution_create gives no error and no execution");
    run->execution = execution, run->inputs = message->data, run->inputs_size = message->header.data;
    for (uint32_t i = 0; i < input_count; i++) {
        int code = set_input(execution, i, reader, message);
        if (code) return code;
    }
    run->outputs_offset = reader->at - start;
    int code = set_outputs(object, output_count, reader);
    if (code) return code;
    if (limit && library.Execution_setTimeout) CALL(Execution_setTimeout, execution, limit);
    if (loop_limit && library.Execution_setLoopTimeout) CALL(Execution_setLoopTimeout, execution, loop_limit);
    if (run->is_measured) library.Execution_setMeasureTiming(execution, true); /* some libraries refuse it */
    size_t size = reader->end - start;
    if (library.Execution_setReusable && !library.Execution_setReusable(execution, true)) run->head = malloc(size);
    if (run->head) memcpy(run->head, start, size), run->head_size = size;
    return 0;
}

static int compute(struct object *object, struct object *compilation, struct reader head, struct writer *answer) {
    void *execution = object->run.execution, *burst = object->kind == IS_BURST ? object->handle : NULL;
    bool is_measured = object->run.is_measured;
    int code = burst ? library.Execution_burstCompute(execution, burst) : library.Execution_compute(execution);
    if (code && code != OUTPUT_INSUFFICIENT_SIZE)
        return fail(code, burst ? "ANeuralNetworksExecution_burstCompute" : "ANeuralNetworksExecution_compute");
    if (code) free(object->run.head), object->run.head = NULL;
    write_word(answer, code);
    write_long(answer, code || !is_measured ? UINT64_MAX : find_duration(execution, 0));
    write_long(answer, code || !is_measured ? UINT64_MAX : find_duration(execution, 1));
    read_words(&head, object->run.outputs_offset / 4);
    for (uint32_t i = 0; i < compilation->outputs; i++) {
        bool needs_shape = read_word(&head);
        read_long(&head);
        if (needs_shape && (code = write_shape(execution, i, answer))) return code;
    }
    return 0;
}

/* Whether the last execution is set up for this request, so that it only needs to compute again. */
static bool is_repeated(const struct run *run, const struct message *message) {
    const struct reader *head = &message->head;
    return run->head && run->inputs == message->data && run->inputs_size == message->header.data &&
           run->head_size == (size_t)(head->end - head->at) && !memcmp(run->head, head->at, run->head_size);
}

int run(struct message *message, struct writer *answer, uint8_t **data, size_t *data_size) {
    struct object *compilation = find(read_word(&message->head), IS_COMPILATION);
    uint32_t number = read_word(&message->head);
    struct object *burst = find(number, IS_BURST), *object = burst ? burst : compilation;
    if (!compilation || (number && !burst)) return fail(BAD_DATA, "there is no such compilation or burst");
    if (burst && find(burst->needs[0], IS_COMPILATION) != compilation)
        return fail(BAD_DATA, "the burst belongs to another compilation");
    struct reader head = message->head;
    int code = is_repeated(&object->run, message) ? compute(object, compilation, head, answer) : BAD_STATE;
    if (code) { /* also for libraries that compute only once with an execution that they accepted as reusable */
        answer->size = 0;
        forget_run(&object->run);
        code = begin(object, compilation, message);
        if (!code) code = compute(object, compilation, head, answer);
    }
    *data = object->data, *data_size = code ? 0 : object->run.outputs_size;
    if (code || !object->run.head) forget_run(&object->run);
    return code;
}
