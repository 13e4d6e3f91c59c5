/* As frameworks load the library: by its bare name, for themselves only, more than once. */
#include <NeuralNetworks.h>
#include <dlfcn.h>
#include <stdio.h>

int main(void) {
    for (int i = 0; i < 2; i++) {
        void *library = dlopen("libneuralnetworks.so", RTLD_LAZY | RTLD_LOCAL);
        if (!library) return puts(dlerror());
        int (*get_count)(uint32_t *) = (int (*)(uint32_t *))dlsym(library, "ANeuralNetworks_getDeviceCount");
        uint32_t count = 0;
        if (!get_count || get_count(&count) || !count) return 1;
        if (dlclose(library)) return 2;
    }
    puts("done");
    return 0;
}
