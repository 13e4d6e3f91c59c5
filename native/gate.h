/* The gate that every call of the library passes: it counts the threads inside, and keeps them out of engines while the
 * program ends. */
#ifndef NNAPI_GATE_H
#define NNAPI_GATE_H

/* Counts a call of this thread. Once the gate is closed, delays the call and returns 0, unless this thread closed it. */
int enter_gate(void);

/* Ends a call that enter_gate has counted. */
void leave_gate(void);

/* Whether this thread is in a call: it ends the program in a signal handler or in a callback. */
int is_inside(void);

/* Whether other threads are in a call. */
int are_others_inside(void);

/* Closes the gate for all other threads. Returns 0 if it is closed already. */
int close_gate(void);

/* Waits at most a second until no other thread is in a call. */
void await_others(void);

/* Whether this thread has closed the gate. */
int has_closed_gate(void);

/* Lets threads that close_gate has kept from returning return. The gate stays closed. */
void open_exit(void);

#endif
