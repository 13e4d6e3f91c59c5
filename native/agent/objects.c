/* The numbered objects of a client. */

#include "objects.h"

static struct object *objects;
static uint32_t count; /* numbers begin at 1 */
static uint32_t lowest; /* no index below is free */
static const char *failed;

int fail(int code, const char *where) {
    failed = where;
    return code;
}

const char *last_failure(void) {
    return failed;
}

struct object *find(uint32_t number, enum kind kind) {
    bool is_there = number && number <= count && objects[number - 1].kind == kind;
    return is_there ? &objects[number - 1] : NULL;
}

uint32_t add(enum kind kind) {
    uint32_t index = lowest;
    while (index < count && objects[index].kind) index++;
    if (index == count) {
        struct object *grown = count < MOST_OBJECTS ? realloc(objects, (count + 64) * sizeof *objects) : NULL;
        if (!grown) return 0;
        memset(grown + count, 0, 64 * sizeof *grown);
        objects = grown, count += 64;
    }
    objects[index] = (struct object){.kind = kind};
    return lowest = index + 1;
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

void forget_run(struct run *run) {
    if (run->execution) library.Execution_free(run->execution);
    free(run->head);
    *run = (struct run){NULL};
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
    if (number - 1 < lowest) lowest = number - 1;
    return true;
}

int drop(struct reader *reader) {
    uint32_t number = read_word(reader);
    if (!number || number > count || !objects[number - 1].kind) return fail(BAD_DATA, "no object has that number");
    return release(number) ? 0 : fail(BAD_STATE, "the object is in use");
}
