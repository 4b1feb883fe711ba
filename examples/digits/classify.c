/* Classifies handwritten digits with a network that TensorScript compiled to an object file.
 *
 *   cc classify.c digits.o -o classify -lm -lpthread
 *   ./classify images.bin 450 outputs.bin
 *
 * images.bin holds 8x8 float32 images one after the other; outputs.bin receives ten float32
 * log-probabilities for each. No Python, no tensor library: digits.o needs libc, libm and pthread.
 */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "digits.h"

enum { PIXELS = 64, CLASSES = 10 };

static DLTensor tensor(void *data, int32_t rank, int64_t *shape, uint8_t bits)
{
    DLTensor t = {data, {1, 0}, rank, {2, bits, 1}, shape, NULL, 0};
    return t;
}

static double seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec + 1e-9 * now.tv_nsec;
}

static int fail(const char *what)
{
    fprintf(stderr, "classify: %s\n", what);
    return 1;
}

int main(int argc, char **argv)
{
    if (argc != 4)
        return fail("usage: classify images.bin COUNT outputs.bin");
    int64_t count = atoll(argv[2]);
    float *images = malloc(sizeof(float) * PIXELS * (size_t)count);
    float *outputs = malloc(sizeof(float) * CLASSES * (size_t)count);
    FILE *in = fopen(argv[1], "rb");
    if (!images || !outputs || !in)
        return fail("cannot read the images");
    if (fread(images, sizeof(float) * PIXELS, (size_t)count, in) != (size_t)count)
        return fail("fewer images than promised");
    fclose(in);

    int64_t image_shape[] = {count, 1, 8, 8}, output_shape[] = {count, CLASSES};
    DLTensor x = tensor(images, 4, image_shape, 32);
    DLTensor y = tensor(outputs, 2, output_shape, 32);
    double start = seconds();
    if (digits(&x, &y) != DIGITS_OK)
        return fail(digits_error());
    double first = seconds() - start, best = first;
    for (int k = 0; k < 50; k++) {
        start = seconds();
        digits(&x, &y);
        double taken = seconds() - start;
        best = taken < best ? taken : best;
    }

    /* What a mistake looks like: the same images, declared to be doubles. */
    DLTensor wrong = tensor(images, 4, image_shape, 64);
    int status = digits(&wrong, &y);
    if (status == DIGITS_OK)
        return fail("a wrong dtype was not noticed");
    printf("%lld digits: first call %.2f ms, then %.2f ms\n", (long long)count, 1e3 * first,
           1e3 * best);
    printf("declared as float64, it refuses with status %d: %s\n", status, digits_error());

    FILE *out = fopen(argv[3], "wb");
    if (!out || fwrite(outputs, sizeof(float) * CLASSES, (size_t)count, out) != (size_t)count)
        return fail("cannot write the outputs");
    fclose(out);
    free(images);
    free(outputs);
    return 0;
}
