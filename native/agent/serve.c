/* Serves one client: its greeting, and then requests one by one. */

#include "agent.h"

static bool refuse(int to, int code, const char *text) {
    uint8_t head[4 + 1024];
    size_t length = strlen(text) < sizeof head - 4 ? strlen(text) : sizeof head - 4;
    memcpy(head, &code, 4);
    memcpy(head + 4, text, length);
    return transmit(to, ERROR, head, 4 + length, NULL, 0);
}

/* Return whether the greeting has the token. The time does not depend on the position of a difference. */
static bool has_token(struct reader *reader, const char *token) {
    uint32_t length = read_word(reader), differs = length ^ (uint32_t)strlen(token);
    const uint8_t *given = read_words(reader, ((uint64_t)length + 3) / 4);
    for (uint32_t i = 0; given && i < length && token[i]; i++) differs |= given[i] ^ (uint8_t)token[i];
    return !*token || (given && !differs);
}

static bool greet(int from, int to, int life, const char *path, const char *token) {
    struct message message;
    if (!receive_greeting(from, &message)) return false;
    bool is_ours = message.header.kind == HELLO && read_word(&message.head) == MAGIC;
    uint32_t version = read_word(&message.head);
    char text[96];
    snprintf(text, sizeof text, "the agent speaks version %d of the protocol, the client %u", VERSION, version);
    if (!is_ours) return false;
    if (version != VERSION) return refuse(to, UNAVAILABLE, text) && false;
    if (!has_token(&message.head, token)) return refuse(to, UNAVAILABLE, "the token is missing or wrong") && false;
    if (write(life, "", 1) != 1) return false;
    const char *reason = load_library(path);
    if (reason) return refuse(to, UNAVAILABLE, reason) && false;
    struct writer answer = {0};
    write_word(&answer, VERSION);
    write_word(&answer, getpid());
    write_word(&answer, find_level());
    write_word(&answer, library.Burst_create && library.Burst_free && library.Execution_burstCompute);
    write_text(&answer, path);
    bool is_sent = !answer.is_full && transmit(to, ANSWER, answer.start, answer.size, NULL, 0);
    free(answer.start);
    return is_sent;
}

int serve(int from, int to, int life, const char *path, const char *token) {
    if (!greet(from, to, life, path, token)) return 0;
    struct writer answer = {0};
    struct message message;
    bool is_open = true;
    while (is_open && receive(from, &message)) {
        const char *where = NULL;
        uint8_t *data = NULL;
        size_t data_size = 0;
        answer.size = 0, answer.is_full = false;
        int code = handle(&message, &answer, &data, &data_size, &where);
        is_open = code ? refuse(to, code, where ? where : "") : transmit(to, ANSWER, answer.start, answer.size, data, data_size);
    }
    return 0;
}
