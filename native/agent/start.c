/* The start of the program, for systems on which the compiler's start does not work. */

#include "agent.h"

#if defined(__ANDROID__) && !__has_include(<unistd.h>)

/* For Android without the NDK: replaces the NDK's crtbegin_dynamic.o. The C library calls main. */
int main(int count, char **words);

static int start_main(int count, char **words, char **environment) {
    (void)environment;
    return main(count, words);
}

void start_with(void *arguments) {
    static const void *const no_functions[8]; /* the program has no constructors and destructors */
    __libc_init(arguments, NULL, start_main, no_functions);
}

__asm__(".globl _start\n.type _start,%function\n_start:\n    mov x29, #0\n    mov x30, #0\n    mov x0, sp\n    b start_with\n");

#elif defined(NNAPI_FIRST_GLIBC)

/* glibc 2.34 added a second version of this function, which the compiler's start needs. The first version accepts the same
   arguments, and all glibcs have it, so a program built here also starts with older glibcs. */
typedef int function_main(int count, char **words, char **environment);
int first_libc_start_main(function_main *, int, char **, void (*)(void), void (*)(void), void (*)(void), void *);
__asm__(".symver first_libc_start_main,__libc_start_main@" NNAPI_FIRST_GLIBC);

__attribute__((visibility("hidden"))) int __libc_start_main(
    function_main *main, int count, char **words, void (*begin)(void), void (*end)(void), void (*unload)(void), void *stack
) {
    return first_libc_start_main(main, count, words, begin, end, unload, stack);
}

#endif
