#include "log.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void log_line(const char *text)
{
    const char *path = getenv("FACTZ_HDF5_LOG");
    if (!path || !*path)
        return;
    const int to_stderr = strcmp(path, "stderr") == 0;
    FILE *file = to_stderr ? stderr : fopen(path, "a");
    if (!file)
        return;
    fprintf(file, "factz: %s\n", text);
    if (!to_stderr)
        fclose(file);
}
