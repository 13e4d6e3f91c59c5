/* The dispatch of a client's requests. */

#include "objects.h"

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
    *where = last_failure();
    return code;
}
