/* See gate.h. */
#define _GNU_SOURCE
#include <stdatomic.h>
#include <time.h>

#include "gate.h"

enum { OPEN, CLOSING, CLOSED };
enum { PATIENCE = 1000, TICK = 2 }; /* milliseconds */

static atomic_int state = OPEN;
static atomic_int inside;
static _Thread_local int depth;      /* calls of this thread, one inside a callback of the other */
static _Thread_local int is_closing; /* this thread closes the gate, and may pass it */

static void rest(int milliseconds) {
    struct timespec time = {milliseconds / 1000, milliseconds % 1000 * 1000000};
    nanosleep(&time, NULL);
}

/* Keeps a thread from returning to its program, which could only react to errors by ending in another way. */
static void await_exit(void) {
    while (state == CLOSING) rest(TICK);
}

int enter_gate(void) {
    depth++;
    inside++;
    if (state == OPEN || is_closing) return 1;
    depth--;
    inside--;
    await_exit();
    rest(PATIENCE); /* usually longer than the process lives; not for ever, as a destructor may join this thread */
    return 0;
}

void leave_gate(void) {
    depth--;
    inside--;
    if (state != OPEN && !is_closing) await_exit();
}

int is_inside(void) { return depth > 0; }

int are_others_inside(void) { return inside > depth; }

int close_gate(void) {
    int expected = OPEN;
    if (!atomic_compare_exchange_strong(&state, &expected, CLOSING)) return 0;
    is_closing = 1;
    return 1;
}

void await_others(void) {
    for (int waited = 0; are_others_inside() && waited < PATIENCE; waited += TICK) rest(TICK);
}

int has_closed_gate(void) { return is_closing; }

void open_exit(void) { state = CLOSED; }
