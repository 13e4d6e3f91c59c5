/* Python's exit handlers run before everything that was registered after the first call, as engines' destructors are. */
#include "client.h"

static char path[] = "/tmp/nnapi-ends-XXXXXX.json";

static void like_a_destructor_of_an_engine(void) {
    int is_written = !access(path, F_OK);
    unlink(path);
    if (!is_written) _exit(1);
}

int main(void) {
    float input[COUNT], output[COUNT];
    int file = mkstemps(path, 5);
    CHECK(file >= 0 && !close(file) && !unlink(path) && !setenv("NNAPI_TRACE", path, 1));
    ANeuralNetworksCompilation *compilation = compiled(guide_model(weights()));
    CHECK(!atexit(like_a_destructor_of_an_engine));
    OK(ANeuralNetworksExecution_compute(prepared(compilation, input, output)));
    check_output(output);
    puts("done");
    return 0;
}
