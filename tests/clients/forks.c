/* A child of a process that has called NNAPI is told so; a child of one that has not can use it. */
#include <sys/wait.h>

#include "client.h"

static int in_child(int expected) {
    int status;
    fflush(stdout);
    pid_t child = fork();
    CHECK(child >= 0);
    if (!child) {
        uint32_t count = 0;
        int result = ANeuralNetworks_getDeviceCount(&count);
        ANeuralNetworksModel_free(NULL);
        exit(result == expected ? 0 : 1);
    }
    alarm(300);
    alarm(600); /* a child that hangs; starting Python takes a minute where processors are emulated and busy */
    CHECK(waitpid(child, &status, 0) == child);
    return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

int main(void) {
    uint32_t count = 0;
    CHECK(in_child(ANEURALNETWORKS_NO_ERROR));
    OK(ANeuralNetworks_getDeviceCount(&count));
    CHECK(in_child(ANEURALNETWORKS_OP_FAILED));
    OK(ANeuralNetworks_getDeviceCount(&count));
    puts("done");
    return 0;
}
