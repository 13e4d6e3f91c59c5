/* Selects old versions of some glibc symbols, so that a library built here also loads with older glibcs. glibc 2.34 moved
 * the symbols of libdl and libpthread; files that include this header are linked with them. glibc 2.38 added a version of strtol, which
 * atoi uses, that reads binary literals; nnapi does not need it. */
#ifndef NNAPI_GLIBC_H
#define NNAPI_GLIBC_H

#include <features.h>

#if defined(__GLIBC__) && defined(__x86_64__)
#define NNAPI_FIRST_GLIBC "GLIBC_2.2.5"
#elif defined(__GLIBC__) && defined(__aarch64__)
#define NNAPI_FIRST_GLIBC "GLIBC_2.17"
#endif

#ifdef NNAPI_FIRST_GLIBC
__asm__(".symver dlopen,dlopen@" NNAPI_FIRST_GLIBC);
__asm__(".symver dlsym,dlsym@" NNAPI_FIRST_GLIBC);
__asm__(".symver dlerror,dlerror@" NNAPI_FIRST_GLIBC);
__asm__(".symver dladdr,dladdr@" NNAPI_FIRST_GLIBC);
__asm__(".symver pthread_create,pthread_create@" NNAPI_FIRST_GLIBC);
__asm__(".symver pthread_detach,pthread_detach@" NNAPI_FIRST_GLIBC);
__asm__(".symver pthread_sigmask,pthread_sigmask@" NNAPI_FIRST_GLIBC);
__asm__(".symver __isoc23_strtol,strtol@" NNAPI_FIRST_GLIBC);
#endif

#endif
