#ifndef NNAPI_ANDROID_HARDWARE_BUFFER_H
#define NNAPI_ANDROID_HARDWARE_BUFFER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct AHardwareBuffer AHardwareBuffer;

typedef struct ARect {
    int32_t left;
    int32_t top;
    int32_t right;
    int32_t bottom;
} ARect;

/* A BLOB has its size in bytes as width, and height and layers of 1; an image has pixels of four bytes. `describe` fills
   stride: the distance of rows in pixels, or in bytes for a BLOB. */
typedef struct AHardwareBuffer_Desc {
    uint32_t width;
    uint32_t height;
    uint32_t layers;
    uint32_t format;
    uint64_t usage;
    uint32_t stride;
    uint32_t rfu0;
    uint64_t rfu1;
} AHardwareBuffer_Desc;

enum AHardwareBuffer_Format {
    AHARDWAREBUFFER_FORMAT_R8G8B8A8_UNORM = 1,
    AHARDWAREBUFFER_FORMAT_BLOB = 0x21,
};

enum AHardwareBuffer_UsageFlags {
    AHARDWAREBUFFER_USAGE_CPU_READ_NEVER = 0,
    AHARDWAREBUFFER_USAGE_CPU_READ_RARELY = 2,
    AHARDWAREBUFFER_USAGE_CPU_READ_OFTEN = 3,
    AHARDWAREBUFFER_USAGE_CPU_WRITE_NEVER = 0,
    AHARDWAREBUFFER_USAGE_CPU_WRITE_RARELY = 2 << 4,
    AHARDWAREBUFFER_USAGE_CPU_WRITE_OFTEN = 3 << 4,
    AHARDWAREBUFFER_USAGE_GPU_DATA_BUFFER = 1 << 24,
};

/* Allocate a buffer of format BLOB or R8G8B8A8_UNORM with a reference count of 1. */
int AHardwareBuffer_allocate(const AHardwareBuffer_Desc* desc, AHardwareBuffer** outBuffer);

/* Increment the reference count of a buffer. */
void AHardwareBuffer_acquire(AHardwareBuffer* buffer);

/* Decrement the reference count of a buffer, and free it at 0. */
void AHardwareBuffer_release(AHardwareBuffer* buffer);

/* Get the description of a buffer. */
void AHardwareBuffer_describe(const AHardwareBuffer* buffer, AHardwareBuffer_Desc* outDesc);

/* Get the address of a buffer's bytes, valid for the CPU until the buffer is unlocked. */
int AHardwareBuffer_lock(
    AHardwareBuffer* buffer,
    uint64_t usage,
    int32_t fence,
    const ARect* rect,
    void** outVirtualAddress);

/* Unlock a buffer; *fence, if fence is not null, is -1: there is nothing to wait for. */
int AHardwareBuffer_unlock(AHardwareBuffer* buffer, int32_t* fence);

#ifdef __cplusplus
}
#endif

#endif
