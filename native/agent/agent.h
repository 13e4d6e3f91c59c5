/* The agent: a program that calls an NNAPI library for one client at the other end of a byte stream (docs/phones.md).

   A message is a header, a head of 32-bit words and text, and data. Every length is checked against the received bytes.
   Messages contain neither code nor pointers. Everything is little-endian. */

#ifndef NNAPI_AGENT_H
#define NNAPI_AGENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#if defined(__ANDROID__) && !__has_include(<unistd.h>)
#include "bionic.h"
#else
#include "system.h"
#endif

#include "functions.h" /* the functions that the agent calls */

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ && sizeof(void *) == 8, "messages are in the host's order");

enum { MAGIC = 0x41414e4e, VERSION = 1 };
enum { MOST_HEAD = 64 << 20, MOST_DATA = 1 << 30, MOST_OBJECTS = 1 << 16, MOST_DEVICES = 256, MOST_RANK = 32 };
enum { MOST_GREETING = 4096, MOST_TOKEN = 1024, ALIGNMENT = 64, TOKEN = 32 };
#ifndef GREETING_MS /* a test sets a shorter time */
#define GREETING_MS 10000
#endif
enum request { HELLO = 1, DEVICES, CONSTANTS, MODEL, SUPPORTED, COMPILE, BURST, RUN, RELEASE };
enum answer { ANSWER, ERROR, ENDED };

/* Result codes of NNAPI that the agent itself returns. */
enum { OUT_OF_MEMORY = 1, BAD_DATA = 4, OP_FAILED = 5, BAD_STATE = 6, OUTPUT_INSUFFICIENT_SIZE = 8, UNAVAILABLE = 9 };

struct header { uint32_t kind, head; uint64_t data; };

/* The unread rest of a head. Once it has too few bytes for a read, `is_short` is set and all reads return 0. */
struct reader { const uint8_t *at, *end; bool is_short; };

/* The head of an answer; `is_full` is set if there was no memory. */
struct writer { uint8_t *start; size_t size, capacity; bool is_full; };

struct message { struct header header; struct reader head; uint8_t *data; };

uint32_t read_word(struct reader *reader);
uint64_t read_long(struct reader *reader);
/* Return a pointer to the next `count` words in the message; NULL for 0 words or too few. */
const void *read_words(struct reader *reader, uint64_t count);

void write_bytes(struct writer *writer, const void *bytes, size_t size);
void write_word(struct writer *writer, uint32_t value);
void write_long(struct writer *writer, uint64_t value);
void write_text(struct writer *writer, const char *text);

/* Receive a message; return false at the end of the stream or if a length is too large. */
bool receive(int from, struct message *message);
/* Receive a message of at most MOST_GREETING bytes and without data, all of it within GREETING_MS. */
bool receive_greeting(int from, struct message *message);
/* Return the milliseconds of a clock that is never set. */
int64_t find_now(void);
/* Claim the data of the last message; the caller frees them. */
uint8_t *claim_data(struct message *message);
bool transmit(int to, uint32_t kind, const void *head, size_t head_size, const void *data, size_t data_size);

/* Load a library; return NULL, or the reason why it cannot be used. */
const char *load_library(const char *path);
/* Return the highest feature level for which the library has all functions that the agent calls. */
int find_level(void);

/* Handle a request; return a result code. For an error, `where` is the library's function that failed, or a sentence. */
int handle(struct message *message, struct writer *answer, uint8_t **data, size_t *data_size, const char **where);
/* The folder in which compilations are cached; NULL for none. */
extern const char *cache_folder;

/* Serve one client until it disconnects; return the exit status of the process. Once the client has the token, a byte is
   written to `life`. */
int serve(int from, int to, int life, const char *library, const char *token);

/* Return a socket that listens at `@name`, a path, a port of this machine or `address:port`. End the program if that
   fails. */
int listen_at(const char *address, bool is_tcp);
/* Return whether the peer of a Unix socket is this user or root. */
bool is_trusted(int connection);
void die(const char *what, const char *which);

#endif
