/* Loads the NNAPI library that the agent calls: its exported functions, or the table of a support library. */

#include "agent.h"

#define PREFIX "ANeuralNetworks"

struct functions library;

static const struct { int level; size_t offset, support_offset; const char *name; } table[] = {
#define ROW(level, name) \
    {level, offsetof(struct functions, name), offsetof(NnApiSLDriverImplFL5, ANeuralNetworks##name), PREFIX #name},
    FUNCTIONS(ROW)
};
enum { COUNT = sizeof table / sizeof *table };

static void **member(size_t index) {
    return (void **)((char *)&library + table[index].offset);
}

const char *load_library(const char *path) {
    static char reason[512];
    void *loaded = dlopen(path, RTLD_NOW | RTLD_LOCAL), *support = NULL;
    if (!loaded) {
        snprintf(reason, sizeof reason, "%s cannot be loaded: %s", path, dlerror());
        return reason;
    }
    void *entry = dlsym(loaded, PREFIX "_getSLDriverImpl");
    if (entry && !dlsym(loaded, PREFIX "Model_create")) {
        support = ((void *(*)(void))entry)();
        if (!support) {
            snprintf(reason, sizeof reason, PREFIX "_getSLDriverImpl of %s gives nothing", path);
            return reason;
        }
    }
    for (size_t i = 0; i < COUNT; i++) {
        *member(i) = support ? *(void **)((char *)support + table[i].support_offset) : dlsym(loaded, table[i].name);
        if (!*member(i) && table[i].level && table[i].level <= 3) {
            snprintf(reason, sizeof reason, "%s is not an NNAPI library: it has no %s", path, table[i].name);
            return reason;
        }
    }
    return NULL;
}

int find_level(void) {
    int level = 8;
    for (size_t i = 0; i < COUNT; i++)
        if (!*member(i) && table[i].level && table[i].level <= level) level = table[i].level - 1;
    return level;
}
