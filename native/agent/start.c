/* The start of the program, where the compiler's own does not do. */

#include "agent.h"

#if defined(__ANDROID__) && !__has_include(<unistd.h>)

/* Android, built without the NDK, whose crtbegin_dynamic.o this replaces: the C library calls main. */
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

#elif defined(NNAPI_FIRST_GLIBC)

/* With 2.34 this function got a second version, which the compiler's start asks for. The first also takes what that start
   passes, and all glibcs have it, so that a program built here starts there. */
typedef int function_main(int count, char **words, char **environment);
int first_libc_start_main(function_main *, int, char **, void (*)(void), void (*)(void), void (*)(void), void *);
__asm__(".symver first_libc_start_main,__libc_start_main@" NNAPI_FIRST_GLIBC);

__attribute__((visibility("hidden"))) int __libc_start_main(
    function_main *main, int count, char **words, void (*begin)(void), void (*end)(void), void (*unload)(void), void *stack
) {
    return first_libc_start_main(main, count, words, begin, end, unload, stack);
}

#endif
