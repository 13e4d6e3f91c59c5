/* The main program: accepts clients, serves each in a process of its own, and reports the end of that process to the
   client. */

#include "agent.h"

static const char USAGE[] =
    "usage: nnapi-agent [--library PATH] [--cache FOLDER] --stdio | --unix PATH [--daemon] | --tcp [ADDRESS:]PORT\n"
    "Calls an NNAPI library for nnapi on another machine. A PATH that begins with @ is an abstract name.\n"
    "The client's token is NNAPI_AGENT_TOKEN; beyond 127.0.0.1 it is required.\n";

enum { MOST_CLIENTS = 16, GRACE_MS = 2000, TICK_MS = 100, IDLE_MS = 3600 * 1000 };

/* A client: its connection, the process that serves it, and a pipe (`life`): the process writes a byte when the client has
   shown the token, and the pipe is closed when the process ends. `kill_at` is the time to end the process of a client that
   has disconnected, else 0. */
struct client { int from, to, life; pid_t worker; bool is_known; unsigned number; int64_t kill_at; };

static const char *path = "libneuralnetworks.so", *token = "";
static struct client clients[MOST_CLIENTS];
static int client_count, listener = -1;
static unsigned last_number;

static void start(int from, int to) {
    int life[2];
    if (pipe2(life, O_CLOEXEC)) die("cannot serve", "a client");
    pid_t worker = fork();
    if (worker < 0) die("cannot serve", "a client");
    if (!worker) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        close(life[0]);
        if (listener >= 0) close(listener);
        for (int i = 0; i < client_count; i++) close(clients[i].from), close(clients[i].life);
        _exit(serve(from, to, life[1], path, token));
    }
    close(life[1]);
    clients[client_count++] = (struct client){from, to, life[0], worker, false, ++last_number, 0};
}

/* Send the client the exit status of its process, negative for a signal, unless the client has disconnected. */
static void finish(struct client *client) {
    int status = 0;
    waitpid(client->worker, &status, 0);
    int32_t end = WIFSIGNALED(status) ? -WTERMSIG(status) : WEXITSTATUS(status);
    fcntl(client->to, F_SETFL, O_NONBLOCK); /* a client that does not read must not block others */
    if (end && !client->kill_at) transmit(client->to, ENDED, &end, sizeof end, NULL, 0);
    close(client->from);
    if (client->to != client->from) close(client->to);
    close(client->life);
    *client = clients[--client_count];
}

/* Wait for a byte of a client's process that `life` has; return false if the process has ended. */
static bool hear(struct client *client) {
    char byte;
    bool is_alive = read(client->life, &byte, 1) == 1;
    client->is_known |= is_alive;
    return is_alive;
}

/* End the process of the client that has been without a token for longest; return false if all have shown it. */
static bool make_room(void) {
    struct client *oldest = NULL;
    for (struct client *each = clients; each < clients + client_count; each++)
        if (!each->is_known && (!oldest || each->number < oldest->number)) oldest = each;
    if (!oldest) return false;
    kill(oldest->worker, SIGKILL);
    oldest->kill_at = 1; /* it is not told */
    finish(oldest);
    return true;
}

static void turn_away(int connection) {
    static const struct { int32_t code; char text[52]; } full = {UNAVAILABLE, "the agent has 16 clients, as many as it may have"};
    fcntl(connection, F_SETFL, O_NONBLOCK);
    transmit(connection, ERROR, &full, sizeof full.code + strlen(full.text), NULL, 0);
    close(connection);
}

static void accept_one(bool is_unix) {
    int connection = accept4(listener, NULL, NULL, SOCK_CLOEXEC), yes = 1;
    if (connection < 0) return;
    if (is_unix && !is_trusted(connection)) {
        close(connection);
        return;
    }
    if (client_count == MOST_CLIENTS && !make_room()) {
        turn_away(connection);
        return;
    }
    if (!is_unix) setsockopt(connection, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
    if (!is_unix) setsockopt(connection, SOL_SOCKET, SO_KEEPALIVE, &yes, sizeof yes);
    start(connection, connection);
}

/* Watch all clients until there are none and none can connect. A worker whose client has disconnected gets GRACE_MS to
   end. */
static void supervise(bool is_unix, bool is_daemon) {
    while (client_count || listener >= 0) {
        struct pollfd polled[2 * MOST_CLIENTS + 1];
        int count = client_count, timeout = client_count || !is_daemon ? -1 : IDLE_MS;
        for (int i = 0; i < count; i++) {
            polled[2 * i] = (struct pollfd){clients[i].kill_at ? -1 : clients[i].from, POLLRDHUP, 0};
            polled[2 * i + 1] = (struct pollfd){clients[i].life, POLLIN, 0};
            if (clients[i].kill_at) timeout = TICK_MS;
        }
        polled[2 * count] = (struct pollfd){listener, POLLIN, 0};
        int found = poll(polled, 2 * count + 1, timeout);
        if (found < 0 && errno != EINTR) die("cannot", "wait");
        if (!found && !client_count) return;
        for (int i = count; found >= 0 && i--;) {
            struct client *client = &clients[i];
            if (client->kill_at && find_now() >= client->kill_at) kill(client->worker, SIGKILL);
            if (found && polled[2 * i].revents) client->kill_at = find_now() + GRACE_MS;
            if (found && polled[2 * i + 1].revents && !hear(client)) finish(client);
        }
        if (found > 0 && polled[2 * count].revents) accept_one(is_unix);
    }
}

static void leave_terminal(void) {
    pid_t child = fork();
    if (child < 0) die("cannot", "start");
    if (child) exit(0);
    setsid();
    int none = open("/dev/null", O_RDWR);
    for (int i = 0; i < 3; i++) dup2(none, i);
}

static void serve_streams(void) {
    int to = dup(1);
    dup2(2, 1); /* a library may print to the standard output */
    if (to < 0) die("cannot", "start");
    start(0, to);
}

int main(int count, char **words) {
    const char *at = NULL, *kind = "";
    bool is_daemon = false;
    for (int i = 1; i < count; i++) {
        const char *word = words[i], *next = i + 1 < count ? words[i + 1] : NULL;
        if (!strcmp(word, "--stdio")) kind = word;
        else if (!strcmp(word, "--daemon")) is_daemon = true;
        else if (next && !strcmp(word, "--library")) path = next, i++;
        else if (next && !strcmp(word, "--cache")) cache_folder = next, i++;
        else if (next && (!strcmp(word, "--unix") || !strcmp(word, "--tcp"))) kind = word, at = next, i++;
        else kind = "", i = count;
    }
    if (!*kind) {
        fputs(USAGE, stderr);
        return 2;
    }
    if (getenv("NNAPI_AGENT_TOKEN")) token = getenv("NNAPI_AGENT_TOKEN");
    if (strlen(token) > MOST_TOKEN) {
        fprintf(stderr, "nnapi-agent: NNAPI_AGENT_TOKEN may have at most %d characters\n", MOST_TOKEN);
        return 2;
    }
    signal(SIGPIPE, SIG_IGN);
    if (!at) serve_streams();
    else listener = listen_at(at, !strcmp(kind, "--tcp"));
    if (is_daemon && at) leave_terminal();
    supervise(!strcmp(kind, "--unix"), is_daemon);
    return 0;
}
