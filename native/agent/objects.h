/* The objects that a client has made, by number. */

#ifndef NNAPI_AGENT_OBJECTS_H
#define NNAPI_AGENT_OBJECTS_H

#include "agent.h"

enum kind { NOTHING, IS_CONSTANTS, IS_MODEL, IS_COMPILATION, IS_BURST };

/* The last run of a compilation or burst. If the library has reusable executions, requests with the same head, whose
   inputs are at the same address, compute again with the same execution. Otherwise `head` is NULL. */
struct run {
    void *execution;
    uint8_t *head, *inputs;
    size_t head_size, outputs_offset, outputs_size; /* `outputs_offset`: of the description of outputs in the head */
    uint64_t inputs_size;
    bool is_measured;
};

/* An object is released only after all objects that need it, because libraries rely on that order. */
struct object {
    enum kind kind;
    uint32_t uses, need_count, *needs;
    void *handle;
    uint8_t *data; /* constants, which the library reads without a copy; else the outputs of the last run */
    uint64_t size;
    uint32_t operations, inputs, outputs;
    struct run run;
};

/* Return the object with a number; NULL if it does not exist or is of another kind. */
struct object *find(uint32_t number, enum kind kind);
/* Add an object; return its number, or 0 if there are too many. */
uint32_t add(enum kind kind);
/* Record that an object needs another until it is released; return false without memory. */
bool need(uint32_t number, uint32_t needed);
/* Release an object and its use of others; return false if another object needs it. */
bool release(uint32_t number);

#define CALL(name, ...) \
    do { \
        int code = library.name(__VA_ARGS__); \
        if (code) return fail(code, "ANeuralNetworks" #name); \
    } while (0)

/* Record what failed; return the code. */
int fail(int code, const char *where);
const char *last_failure(void);
/* Free the execution of the last run. */
void forget_run(struct run *run);
ANeuralNetworksDevice *find_device(uint32_t index);

/* The requests; each returns a result code and writes its answer, if it has one. */
int list_devices(struct writer *answer);
int make_constants(struct message *message, struct writer *answer);
int make_model(struct reader *reader, struct writer *answer);
int ask_supported(struct reader *reader, struct writer *answer);
int compile(struct reader *reader, struct writer *answer);
int make_burst(struct reader *reader, struct writer *answer);
int run(struct message *message, struct writer *answer, uint8_t **data, size_t *data_size);
int drop(struct reader *reader);

#endif
