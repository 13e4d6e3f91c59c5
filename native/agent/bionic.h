/* The few declarations of Android's C library that the agent needs, for a build without the NDK: aarch64, API level 29.
   The layouts and numbers are those of the Linux kernel. */

typedef struct FILE FILE;
typedef int pid_t;
typedef uint32_t socklen_t, uid_t;
typedef long ssize_t;

struct in_addr { uint32_t s_addr; };
struct iovec { void *iov_base; size_t iov_len; };
struct pollfd { int fd; short events, revents; };
struct sockaddr_in { uint16_t sin_family, sin_port; struct in_addr sin_addr; uint8_t rest[8]; };
struct sockaddr_un { uint16_t sun_family; char sun_path[108]; };
struct timespec { long tv_sec, tv_nsec; };
struct ucred { pid_t pid; uid_t uid, gid; };

enum { AF_UNIX = 1, AF_INET = 2, SOCK_STREAM = 1, SOCK_NONBLOCK = 04000, SOCK_CLOEXEC = 02000000 };
enum { IPPROTO_TCP = 6, TCP_NODELAY = 1, CLOCK_MONOTONIC = 1, LOCK_EX = 2, LOCK_NB = 4 };
enum { SOL_SOCKET = 1, SO_REUSEADDR = 2, SO_KEEPALIVE = 9, SO_PEERCRED = 17 };
enum { O_RDWR = 2, O_NONBLOCK = 04000, O_NOFOLLOW = 0100000, O_CLOEXEC = 02000000, F_SETFL = 4 };
enum { POLLIN = 1, POLLRDHUP = 0x2000 };
enum { EINTR = 4, ENXIO = 6, EAGAIN = 11, EEXIST = 17, EINVAL = 22, ENAMETOOLONG = 36, EADDRINUSE = 98 };
enum { ECONNREFUSED = 111, SIGKILL = 9, SIGPIPE = 13 };
enum { PR_SET_PDEATHSIG = 1, RTLD_LOCAL = 0, RTLD_NOW = 2 };
#define SIG_IGN ((void (*)(int))1)
#define WTERMSIG(status) ((status) & 127)
#define WIFSIGNALED(status) (WTERMSIG(status) && WTERMSIG(status) != 127)
#define WEXITSTATUS(status) ((status) >> 8 & 255)
#define errno (*__errno())
#define htons __builtin_bswap16
#define ntohs __builtin_bswap16
#define ntohl __builtin_bswap32

/* libdl.so */
char *dlerror(void);
void *dlopen(const char *, int);
void *dlsym(void *, const char *);

/* libc.so */
int *__errno(void);
_Noreturn void __libc_init(void *, void (*)(void), int (*)(int, char **, char **), const void *);
_Noreturn void __stack_chk_fail(void);
_Noreturn void _exit(int);
int accept4(int, void *, socklen_t *, int);
int bind(int, const void *, socklen_t);
void *calloc(size_t, size_t);
int clock_gettime(int, struct timespec *);
int close(int);
int connect(int, const void *, socklen_t);
int dup(int);
int dup2(int, int);
_Noreturn void exit(int);
int fcntl(int, int, ...);
int fflush(FILE *);
int flock(int, int);
pid_t fork(void);
int fprintf(FILE *, const char *, ...);
int fputs(const char *, FILE *);
void free(void *);
char *getenv(const char *);
pid_t getpid(void);
int getsockname(int, void *, socklen_t *);
int getsockopt(int, int, int, void *, socklen_t *);
uid_t getuid(void);
int inet_pton(int, const char *, void *);
int kill(pid_t, int);
int listen(int, int);
void *malloc(size_t);
int memcmp(const void *, const void *, size_t);
void *memcpy(void *, const void *, size_t);
void *memset(void *, int, size_t);
int open(const char *, int, ...);
int pipe2(int *, int);
int poll(struct pollfd *, unsigned, int);
int posix_memalign(void **, size_t, size_t);
int prctl(int, ...);
int printf(const char *, ...);
ssize_t read(int, void *, size_t);
void *realloc(void *, size_t);
int setsid(void);
int setsockopt(int, int, int, const void *, socklen_t);
void (*signal(int, void (*)(int)))(int);
int snprintf(char *, size_t, const char *, ...);
int socket(int, int, int);
int strcmp(const char *, const char *);
char *strerror(int);
size_t strlen(const char *);
size_t strnlen(const char *, size_t);
char *strrchr(const char *, int);
uint32_t umask(uint32_t);
int unlink(const char *);
pid_t waitpid(pid_t, int *, int);
ssize_t write(int, const void *, size_t);
ssize_t writev(int, const struct iovec *, int);
extern FILE *stderr, *stdout;
