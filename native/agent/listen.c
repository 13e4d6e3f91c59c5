/* Makes sockets that accept clients. */

#include "agent.h"

void die(const char *what, const char *which) {
    fprintf(stderr, "nnapi-agent: %s %s: %s\n", what, which, strerror(errno));
    exit(1);
}

static int listen_unix(const char *path) {
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    size_t length = strlen(path);
    if (length >= sizeof address.sun_path) {
        errno = ENAMETOOLONG;
        die("cannot listen at", path);
    }
    memcpy(address.sun_path, path, length);
    bool is_abstract = *path == '@';
    if (is_abstract) *address.sun_path = 0;
    int listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    umask(077);
    socklen_t size = offsetof(struct sockaddr_un, sun_path) + length + !is_abstract;
    bool is_bound = !bind(listener, (void *)&address, size);
    if (!is_bound && errno == EADDRINUSE && !is_abstract) { /* unless an agent answers, an earlier one has left the file */
        int other = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
        bool is_served = !connect(other, (void *)&address, size);
        close(other);
        errno = EADDRINUSE;
        is_bound = !is_served && !unlink(path) && !bind(listener, (void *)&address, size);
    }
    if (!is_bound || listen(listener, 8)) die("cannot listen at", path);
    return listener;
}

static int listen_tcp(const char *where) {
    char text[64];
    const char *colon = strrchr(where, ':');
    snprintf(text, sizeof text, "%.*s", colon ? (int)(colon - where) : 9, colon ? where : "127.0.0.1");
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(atoi(colon ? colon + 1 : where))};
    int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), yes = 1;
    setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
    errno = EINVAL;
    if (inet_pton(AF_INET, text, &address.sin_addr) != 1 || bind(listener, (void *)&address, sizeof address) ||
        listen(listener, 8))
        die("cannot listen at", where);
    const char *token = getenv("NNAPI_AGENT_TOKEN");
    if ((ntohl(address.sin_addr.s_addr) >> 24) != 127 && strlen(token ? token : "") < 16) {
        fputs("nnapi-agent: beyond 127.0.0.1 NNAPI_AGENT_TOKEN must have at least 16 characters\n", stderr);
        exit(1);
    }
    socklen_t size = sizeof address;
    getsockname(listener, (void *)&address, &size);
    printf("%s:%d\n", text, ntohs(address.sin_port)); /* for port 0, the system chooses a free one */
    fflush(stdout);
    return listener;
}

int listen_at(const char *address, bool is_tcp) {
    return is_tcp ? listen_tcp(address) : listen_unix(address);
}

bool is_trusted(int connection) {
    struct ucred peer;
    socklen_t size = sizeof peer;
    if (getsockopt(connection, SOL_SOCKET, SO_PEERCRED, &peer, &size)) return false;
    return peer.uid == 0 || peer.uid == getuid();
}
