/* Names of glibc that moved between its libraries with 2.34, taken as all older ones have them too, so that what is
 * built here loads there. Whatever includes this is linked with libdl. Since 2.38 strtol, and so atoi, has another name
 * too, for binary literals, which nothing here reads. */
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
__asm__(".symver __isoc23_strtol,strtol@" NNAPI_FIRST_GLIBC);
#endif

#endif
