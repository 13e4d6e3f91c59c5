/* Messages on a byte stream. */

#include "agent.h"

const void *read_words(struct reader *reader, uint64_t count) {
    const uint8_t *found = reader->at;
    if (reader->is_short || count > (uint64_t)(reader->end - found) / 4) {
        reader->is_short = true;
        return NULL;
    }
    reader->at += count * 4;
    return count ? found : NULL;
}

uint32_t read_word(struct reader *reader) {
    uint32_t value = 0;
    const void *found = read_words(reader, 1);
    if (found) memcpy(&value, found, sizeof value);
    return value;
}

uint64_t read_long(struct reader *reader) {
    uint64_t low = read_word(reader);
    return low | (uint64_t)read_word(reader) << 32;
}

void write_bytes(struct writer *writer, const void *bytes, size_t size) {
    if (size > writer->capacity - writer->size) {
        size_t capacity = 2 * writer->capacity + size + 1024;
        uint8_t *start = realloc(writer->start, capacity);
        writer->is_full |= !start;
        if (!start) return;
        writer->start = start, writer->capacity = capacity;
    }
    if (size) memcpy(writer->start + writer->size, bytes, size);
    writer->size += size;
}

void write_word(struct writer *writer, uint32_t value) {
    write_bytes(writer, &value, sizeof value);
}

void write_long(struct writer *writer, uint64_t value) {
    write_bytes(writer, &value, sizeof value);
}

void write_text(struct writer *writer, const char *text) {
    static const char none[4];
    uint32_t length = text ? strnlen(text, 1024) : 0;
    write_word(writer, length);
    write_bytes(writer, text, length);
    write_bytes(writer, none, -length & 3); /* words stay aligned */
}

int64_t find_now(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* Return whether the stream has bytes, or has ended, before the time `end` in milliseconds. */
static bool await_bytes(int from, int64_t end) {
    struct pollfd polled = {from, POLLIN, 0};
    int found = -1;
    for (int64_t now; found < 0 && (now = find_now()) < end;) {
        found = poll(&polled, 1, end - now);
        if (found < 0 && errno != EINTR) return false;
    }
    return found > 0;
}

/* Read `size` bytes, until the time `end` if it is not 0. */
static bool read_whole(int from, void *to, size_t size, int64_t end) {
    for (uint8_t *at = to; size;) {
        if (end && !await_bytes(from, end)) return false;
        ssize_t count = read(from, at, size);
        if (count <= 0) {
            if (count < 0 && errno == EINTR) continue;
            return false;
        }
        at += count, size -= count;
    }
    return true;
}

/* Memory for received messages, reused for the next one up to a size. A false length in a header takes only addresses: the
   system allocates a page when its bytes are written. */
struct memory { uint8_t *start; size_t size; };
enum { KEPT = 16 << 20 };

static uint8_t *reserve(struct memory *memory, size_t size) {
#ifdef EXACT /* exact sizes, so that a sanitizer detects each read beyond the message */
    if (memory->start && size == memory->size) return memory->start;
#else
    if (memory->start && size <= memory->size && memory->size <= KEPT) return memory->start;
#endif
    free(memory->start);
    void *made = NULL;
    memory->size = posix_memalign(&made, ALIGNMENT, size ? size : 1) ? 0 : size;
    return memory->start = made;
}

static struct memory head, data;

static bool receive_within(int from, struct message *message, uint32_t most_head, uint64_t most_data, int64_t end) {
    struct header *header = &message->header;
    if (!read_whole(from, header, sizeof *header, end)) return false;
    if (header->head > most_head || header->data > most_data) return false;
    uint8_t *start = reserve(&head, header->head);
    message->data = reserve(&data, header->data);
    if (!read_whole(from, start, header->head, end)) return false; /* also without memory: the system refuses NULL */
    if (!read_whole(from, message->data, header->data, end)) return false;
    message->head = (struct reader){start, start + header->head, false};
    return true;
}

bool receive(int from, struct message *message) {
    return receive_within(from, message, MOST_HEAD, MOST_DATA, 0);
}

bool receive_greeting(int from, struct message *message) {
    return receive_within(from, message, MOST_GREETING, 0, find_now() + GREETING_MS);
}

uint8_t *claim_data(struct message *message) {
    data = (struct memory){NULL, 0};
    return message->data;
}

bool transmit(int to, uint32_t kind, const void *head, size_t head_size, const void *data, size_t data_size) {
    struct header header = {kind, head_size, data_size};
    struct iovec parts[] = {{&header, sizeof header}, {(void *)head, head_size}, {(void *)data, data_size}};
    for (struct iovec *part = parts, *end = parts + 3; part < end;) {
        ssize_t count = writev(to, part, end - part);
        if (count < 0 && errno == EINTR) continue;
        if (count < 0) return false;
        for (; part < end && (size_t)count >= part->iov_len; part++) count -= part->iov_len;
        if (part < end) part->iov_base = (char *)part->iov_base + count, part->iov_len -= count;
    }
    return true;
}
