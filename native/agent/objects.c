/* The numbered objects of a client, and the dispatch of its requests. */

#include "objects.h"

static struct object *objects;
static uint32_t count; /* numbers begin at 1 */
static const char *failed;

int fail(int code, const char *where) {
    failed = where;
    return code;
}

struct object *find(uint32_t number, enum kind kind) {
    bool is_there = number && number <= count && objects[number - 1].kind == kind;
    return is_there ? &objects[number - 1] : NULL;
}

uint32_t add(enum kind kind) {
    uint32_t index = 0;
    while (index < count && objects[index].kind) index++;
    if (index == count) {
        struct object *grown = count < MOST_OBJECTS ? realloc(objects, (count + 64) * sizeof *objects) : NULL;
        if (!grown) return 0;
        memset(grown + count, 0, 64 * sizeof *grown);
        objects = grown, count += 64;
    }
    objects[index] = (struct object){.kind = kind};
    return index + 1;
}

bool need(uint32_t number, uint32_t needed) {
    struct object *object = &objects[number - 1];
    if (!(object->need_count & (object->need_count + 1))) { /* the capacity is 1, 3, 7, … */
        uint32_t *grown = realloc(object->needs, (2 * (size_t)object->need_count + 1) * sizeof *grown);
        if (!grown) return false;
        object->needs = grown;
    }
    object->needs[object->need_count++] = needed;
    objects[needed - 1].uses++;
    return true;
}

bool release(uint32_t number) {
    struct object *object = &objects[number - 1];
    if (object->uses) return false;
    forget_run(&object->run);
    if (object->handle && object->kind == IS_MODEL) library.Model_free(object->handle);
    if (object->handle && object->kind == IS_COMPILATION) library.Compilation_free(object->handle);
    if (object->handle && object->kind == IS_BURST) library.Burst_free(object->handle);
    for (uint32_t i = 0; i < object->need_count; i++) objects[object->needs[i] - 1].uses--;
    free(object->needs);
    free(object->data);
    *object = (struct object){NOTHING};
    return true;
}

static int drop(struct reader *reader) {
    uint32_t number = read_word(reader);
    if (!number || number > count || !objects[number - 1].kind) return fail(BAD_DATA, "no object has that number");
    return release(number) ? 0 : fail(BAD_STATE, "the object is in use");
}

static int dispatch(struct message *message, struct writer *answer, uint8_t **data, size_t *data_size) {
    switch (message->header.kind) {
    case DEVICES: return list_devices(answer);
    case CONSTANTS: return make_constants(message, answer);
    case MODEL: return make_model(&message->head, answer);
    case SUPPORTED: return ask_supported(&message->head, answer);
    case COMPILE: return compile(&message->head, answer);
    case BURST: return make_burst(&message->head, answer);
    case RUN: return run(message, answer, data, data_size);
    case RELEASE: return drop(&message->head);
    default: return fail(BAD_DATA, "there is no such request");
    }
}

int handle(struct message *message, struct writer *answer, uint8_t **data, size_t *data_size, const char **where) {
    int code = dispatch(message, answer, data, data_size);
    if (!code && answer->is_full) code = fail(OUT_OF_MEMORY, "there is no memory for the answer");
    *where = failed;
    return code;
}
