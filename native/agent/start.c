/* The start of the program on Android, for a build without the NDK, whose crtbegin_dynamic.o it replaces: the C library
   calls main. */

#include "agent.h"

#if defined(__ANDROID__) && !__has_include(<unistd.h>)

int main(int count, char **words);

static int start_main(int count, char **words, char **environment) {
    (void)environment;
    return main(count, words);
}

void start_with(void *arguments) {
    static const void *const no_functions[8]; /* no constructors and destructors of the program itself */
    __libc_init(arguments, NULL, start_main, no_functions);
}

__asm__(".globl _start\n.type _start,%function\n_start:\n    mov x29, #0\n    mov x30, #0\n    mov x0, sp\n    b start_with\n");

#endif
