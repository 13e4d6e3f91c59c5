/* Makes sockets that accept clients. */

#include "agent.h"

enum { PATH_LENGTH = sizeof ((struct sockaddr_un *)NULL)->sun_path, MOST_PORT = 65535, BACKLOG = 64 };
enum { LOCK_MS = 5000, PAUSE_MS = 20 };

void die(const char *what, const char *which) {
    fprintf(stderr, "nnapi-agent: %s %s: %s\n", what, which, strerror(errno));
    exit(1);
}

/* Lock the folder of a path against other agents that start; return the descriptor that holds the lock. */
static int lock_folder(const char *path) {
    char folder[PATH_LENGTH + 2];
    const char *end = strrchr(path, '/');
    snprintf(folder, sizeof folder, "%.*s.", end ? (int)(end + 1 - path) : 0, path);
    int lock = open(folder, O_CLOEXEC);
    if (lock < 0) die("cannot listen at", path);
    for (int tries = 0; flock(lock, LOCK_EX | LOCK_NB); tries++) {
        if (errno != EAGAIN || tries == LOCK_MS / PAUSE_MS) die("cannot lock the folder of", path);
        poll(NULL, 0, PAUSE_MS);
    }
    return lock;
}

/* Whether a path is a socket on which no process listens. Otherwise errno says what it is. */
static bool is_abandoned(const char *path, const struct sockaddr_un *address, socklen_t size) {
    int file = open(path, O_NONBLOCK | O_NOFOLLOW | O_CLOEXEC);
    bool is_socket = file < 0 && errno == ENXIO; /* sockets cannot be opened */
    if (file >= 0) close(file);
    errno = EEXIST;
    if (!is_socket) return false;
    int other = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    bool is_refused = connect(other, (const void *)address, size) && errno == ECONNREFUSED;
    close(other);
    errno = EADDRINUSE;
    return is_refused;
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
    int listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0), lock = is_abstract ? -1 : lock_folder(path);
    umask(077);
    socklen_t size = offsetof(struct sockaddr_un, sun_path) + length + !is_abstract;
    bool is_bound = !bind(listener, (void *)&address, size);
    if (!is_bound && errno == EADDRINUSE && !is_abstract) /* an agent that has ended may have left the file */
        is_bound = is_abandoned(path, &address, size) && !unlink(path) && !bind(listener, (void *)&address, size);
    if (!is_bound || listen(listener, BACKLOG)) die("cannot listen at", path);
    if (lock >= 0) close(lock);
    return listener;
}

static int parse_port(const char *text, const char *where) {
    int port = *text ? 0 : -1;
    for (; *text >= '0' && *text <= '9' && port <= MOST_PORT; text++) port = 10 * port + *text - '0';
    if (!*text && port >= 0 && port <= MOST_PORT) return port;
    fprintf(stderr, "nnapi-agent: %s: a port is a number from 0 to %d\n", where, MOST_PORT);
    exit(1);
}

static int listen_tcp(const char *where) {
    char text[64];
    const char *colon = strrchr(where, ':');
    snprintf(text, sizeof text, "%.*s", colon ? (int)(colon - where) : 9, colon ? where : "127.0.0.1");
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(parse_port(colon ? colon + 1 : where, where))};
    int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), yes = 1;
    setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
    errno = EINVAL;
    if (inet_pton(AF_INET, text, &address.sin_addr) != 1 || bind(listener, (void *)&address, sizeof address) ||
        listen(listener, BACKLOG))
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
