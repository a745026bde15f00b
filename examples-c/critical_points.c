/*
 * Find the critical points of a field, as a solver would do in situ, and list them.
 *
 *     cc -std=c99 critical_points.c -lfactz -lm -o critical_points && ./critical_points
 *
 * Exit status 0 if the points found are those of the analytic field.
 */
#include <factz.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { NX = 120, NY = 90, N = NX * NY };

static const char *type_name(int32_t type)
{
    switch (type) {
    case FACTZ_POINT_SADDLE: return "saddle";
    case FACTZ_POINT_ATTRACTING_NODE: return "attracting node";
    case FACTZ_POINT_REPELLING_NODE: return "repelling node";
    case FACTZ_POINT_ATTRACTING_FOCUS: return "attracting focus";
    case FACTZ_POINT_REPELLING_FOCUS: return "repelling focus";
    case FACTZ_POINT_CENTER: return "center";
    case FACTZ_POINT_VERTEX_ZERO: return "zero at a vertex";
    case FACTZ_POINT_EDGE_ZERO: return "zero on an edge";
    default: return "unknown";
    }
}

static int fail(const char *what)
{
    fprintf(stderr, "%s: %s\n", what, factz_last_error());
    return 1;
}

int main(void)
{
    float *u = malloc(N * sizeof(float)), *v = malloc(N * sizeof(float));
    factz_critical_point *points;
    factz_config config;
    factz_status status;
    uint64_t count, k, saddles = 0;
    size_t x, y;
    int result = 0;

    if (!u || !v)
        return 2;
    /* A lattice of saddles and foci: zero where sin a = sin b = 0 or cos a = cos b = 0. */
    for (y = 0; y < NY; y++)
        for (x = 0; x < NX; x++) {
            double a = 0.1 * (double)x - 0.5, b = 0.1 * (double)y - 0.7;
            u[y * NX + x] = (float)(sin(a) * cos(b) - 0.3 * cos(a) * sin(b) * 0.9);
            v[y * NX + x] = (float)(-cos(a) * sin(b) - 0.2 * sin(a) * cos(b));
        }

    if (factz_config_init(&config, NX, NY, FACTZ_BOUND_ABSOLUTE, 0.0) != FACTZ_OK)
        return fail("factz_config_init");

    /* Ask for the number first; a capacity of 0 needs no array. */
    status = factz_critical_points_host(u, v, N, &config, NULL, 0, &count, 0);
    if (status != FACTZ_OK && status != FACTZ_ERROR_BUFFER_TOO_SMALL)
        return fail("factz_critical_points_host");
    points = malloc((count ? count : 1) * sizeof *points);
    if (!points)
        return 2;
    status = factz_critical_points_host(u, v, N, &config, points, count, &count, 0);
    if (status != FACTZ_OK)
        return fail("factz_critical_points_host");

    printf("%lu critical points\n", (unsigned long)count);
    for (k = 0; k < count; k++) {
        const factz_critical_point *p = &points[k];
        printf("  (%8.4f, %8.4f)  %-16s  cell (%lu, %lu)", p->x, p->y, type_name(p->point_type),
            (unsigned long)p->cell_x, (unsigned long)p->cell_y);
        if (p->index != FACTZ_INDEX_UNDEFINED)
            printf(", index %+ld", (long)p->index);
        printf(", eigenvalues %.3g %+.3gi, %.3g %+.3gi\n", p->eigenvalues_real[0],
            p->eigenvalues_imaginary[0], p->eigenvalues_real[1], p->eigenvalues_imaginary[1]);
        if (!(p->x >= (double)p->cell_x && p->x <= (double)p->cell_x + 1 && p->y >= (double)p->cell_y &&
                p->y <= (double)p->cell_y + 1))
            result = 1;
        saddles += p->point_type == FACTZ_POINT_SADDLE;
    }
    /* Those zeros of the smooth field that lie within the grid. */
    {
        uint64_t expected = 0;
        const double pi = 3.14159265358979323846;
        int i, j;
        for (i = 0; i < 20; i++)
            for (j = 0; j < 20; j++)
                if (i % 2 == j % 2) {
                    double px = (i * pi / 2 + 0.5) / 0.1, py = (j * pi / 2 + 0.7) / 0.1;
                    expected += px < NX - 1 && py < NY - 1;
                }
        if (count != expected || saddles == 0 || saddles == count) {
            fprintf(stderr, "expected %lu critical points, saddles among them\n", (unsigned long)expected);
            result = 1;
        }
    }
    free(points);
    free(u);
    free(v);
    return result;
}
