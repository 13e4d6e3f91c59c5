/* Run a Python program in a fork of tests/warm_python.py, which has imported NumPy and nnapi. Signals to this process
 * reach the program, and this process ends as the program does. Where the fork refuses, become Python itself. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

enum { STREAMS = 3, DESCRIPTORS = STREAMS + 1, LAST = 64 };
static const int FORWARDED[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2};

struct head {
    uint32_t words, variables, size, mask, ignores_interrupts;
    struct rlimit limits[RLIM_NLIMITS];
};

static pid_t program;

static void forward(int number) {
    kill(program, number);
}

/* Whether a fork would inherit less than this process has: descriptors, or blocked signals. */
static int has_more(void) {
    sigset_t blocked;
    sigprocmask(SIG_BLOCK, NULL, &blocked);
    for (int number = 1; number < NSIG; number++)
        if (sigismember(&blocked, number) == 1) return 1;
    for (int descriptor = 0; descriptor < LAST; descriptor++)
        if ((fcntl(descriptor, F_GETFD) == -1) == (descriptor < STREAMS)) return 1;
    return 0;
}

static uint32_t append(char **texts, char **end, uint32_t *count) {
    char *begin = *end;
    for (*count = 0; texts[*count]; ++*count) *end = stpcpy(*end, texts[*count]) + 1;
    return (uint32_t)(*end - begin);
}

static size_t measure(char **texts) {
    size_t size = 0;
    for (; *texts; texts++) size += strlen(*texts) + 1;
    return size;
}

/* Send the request; return the connection, or -1. */
static int ask(char **words) {
    struct sockaddr_un address = {.sun_family = AF_UNIX, .sun_path = SOCKET};
    int connection = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (connection < 0 || connect(connection, (struct sockaddr *)&address, sizeof address)) return -1;
    struct head *head = calloc(1, sizeof *head + measure(words) + measure(environ));
    int descriptors[DESCRIPTORS] = {0, 1, 2, open(".", O_RDONLY | O_DIRECTORY | O_CLOEXEC)};
    if (head == NULL || descriptors[STREAMS] < 0) return -1;
    char *end = (char *)(head + 1);
    head->size = append(words, &end, &head->words);
    head->size += append(environ, &end, &head->variables);
    umask(head->mask = umask(0));
    struct sigaction interrupt;
    sigaction(SIGINT, NULL, &interrupt);
    head->ignores_interrupts = interrupt.sa_handler == SIG_IGN;
    for (int limit = 0; limit < RLIM_NLIMITS; limit++) getrlimit(limit, &head->limits[limit]);
    union {
        struct cmsghdr header;
        char space[CMSG_SPACE(sizeof descriptors)];
    } control = {.header = {CMSG_LEN(sizeof descriptors), SOL_SOCKET, SCM_RIGHTS}};
    memcpy(CMSG_DATA(&control.header), descriptors, sizeof descriptors);
    struct iovec content = {head, sizeof *head};
    struct msghdr message = {.msg_iov = &content, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof control};
    if (sendmsg(connection, &message, MSG_NOSIGNAL) != (ssize_t)sizeof *head) return -1;
    for (char *rest = (char *)(head + 1); rest < end;) {
        ssize_t sent = send(connection, rest, (size_t)(end - rest), MSG_NOSIGNAL);
        if (sent < 0) return -1;
        rest += sent;
    }
    close(descriptors[STREAMS]);
    return connection;
}

static int32_t receive(int connection) {
    int32_t number = 0;
    ssize_t size;
    do size = recv(connection, &number, sizeof number, MSG_WAITALL);
    while (size < 0 && errno == EINTR);
    return size == sizeof number ? number : -1;
}

/* Wait for the program's end, and end so. */
static void follow(int connection, const sigset_t *before) {
    int nothing = open("/dev/null", O_RDWR | O_CLOEXEC); /* readers of a pipe wait for its last writer */
    for (int stream = 0; stream < STREAMS; stream++) dup2(nothing, stream);
    for (size_t index = 0; index < sizeof FORWARDED / sizeof *FORWARDED; index++) {
        struct sigaction action;
        sigaction(FORWARDED[index], NULL, &action);
        action.sa_handler = action.sa_handler == SIG_IGN ? SIG_IGN : forward;
        sigaction(FORWARDED[index], &action, NULL);
    }
    sigprocmask(SIG_SETMASK, before, NULL);
    int32_t status = receive(connection);
    if (WIFSIGNALED(status)) {
        setrlimit(RLIMIT_CORE, &(struct rlimit){0, 0});
        signal(WTERMSIG(status), SIG_DFL);
        raise(WTERMSIG(status));
    }
    _exit(status == -1 ? 255 : WEXITSTATUS(status));
}

int main(int count, char **words) {
    char **given = calloc((size_t)count + 3, sizeof *given);
    if (given == NULL) return 255;
    int command = strcmp(basename(words[0]), "nnapi") == 0;
    memcpy(given + 2 * command, words, ((size_t)count + 1) * sizeof *given);
    given[0] = PYTHON;
    if (command) given[1] = "-m", given[2] = "nnapi";
    if (!has_more()) {
        sigset_t all, before;
        sigfillset(&all);
        sigprocmask(SIG_SETMASK, &all, &before);
        int connection = ask(given);
        if (connection >= 0 && (program = receive(connection)) > 0) follow(connection, &before);
        sigprocmask(SIG_SETMASK, &before, NULL);
    }
    execv(PYTHON, given);
    return 255;
}
