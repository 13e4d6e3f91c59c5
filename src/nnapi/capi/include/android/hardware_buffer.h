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

/* A BLOB has a width in bytes, and height and layers of 1; an image has pixels of four bytes. stride is what describe
   says: pixels, or bytes of a BLOB, from row to row. */
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

/* A new buffer, of format BLOB or R8G8B8A8_UNORM, held once. */
int AHardwareBuffer_allocate(const AHardwareBuffer_Desc* desc, AHardwareBuffer** outBuffer);

/* Hold a buffer once more. */
void AHardwareBuffer_acquire(AHardwareBuffer* buffer);

/* Hold a buffer once less; the last to do so frees it. */
void AHardwareBuffer_release(AHardwareBuffer* buffer);

/* What a buffer was allocated as. */
void AHardwareBuffer_describe(const AHardwareBuffer* buffer, AHardwareBuffer_Desc* outDesc);

/* The address of a buffer's bytes, for the CPU until it is unlocked. */
int AHardwareBuffer_lock(
    AHardwareBuffer* buffer,
    uint64_t usage,
    int32_t fence,
    const ARect* rect,
    void** outVirtualAddress);

/* End what lock began; the fence, if asked for, is -1: there is nothing to wait for. */
int AHardwareBuffer_unlock(AHardwareBuffer* buffer, int32_t* fence);

#ifdef __cplusplus
}
#endif

#endif
