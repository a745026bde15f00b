#include "log.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Lines that are counted; any more are written each time. */
#define MOST_LINES 64

struct line {
    char *path;
    char *text;
    unsigned long long times;
};

static struct line lines[MOST_LINES];
static int line_count;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_once_t once = PTHREAD_ONCE_INIT;

/* The path of the log; NULL without one. */
static const char *log_path(void)
{
    const char *path = getenv("FACTZ_HDF5_LOG");
    return path && *path ? path : NULL;
}

/* Appends a line. `times` is 0 for a line that is not counted. */
static void append(const char *path, const char *text, unsigned long long times)
{
    const int to_stderr = strcmp(path, "stderr") == 0;
    FILE *file = to_stderr ? stderr : fopen(path, "a");
    if (!file)
        return;
    if (times > 0)
        fprintf(file, "factz: %llu times: %s\n", times, text);
    else
        fprintf(file, "factz: %s\n", text);
    if (!to_stderr)
        fclose(file);
}

void log_line(const char *text)
{
    const char *path = log_path();
    if (path)
        append(path, text, 0);
}

static void lock(void)
{
    pthread_mutex_lock(&mutex);
}

static void unlock(void)
{
    pthread_mutex_unlock(&mutex);
}

/* What the parent counted is for the parent to tell. */
static void start_child(void)
{
    line_count = 0;
    unlock();
}

static void prepare(void)
{
    pthread_atfork(lock, unlock, start_child);
}

static char *copied(const char *text)
{
    const size_t bytes = strlen(text) + 1;
    char *copy = malloc(bytes);
    return copy ? memcpy(copy, text, bytes) : NULL;
}

/* The number of times that a line came, with this one; 1 for those that are not counted. */
static unsigned long long count(const char *path, const char *text)
{
    for (int k = 0; k < line_count; k++) {
        if (strcmp(lines[k].text, text) == 0 && strcmp(lines[k].path, path) == 0)
            return ++lines[k].times;
    }
    if (line_count < MOST_LINES) {
        const struct line line = {copied(path), copied(text), 1};
        if (line.path && line.text)
            lines[line_count++] = line;
    }
    return 1;
}

void log_repeated(const char *text)
{
    const char *path = log_path();
    if (!path)
        return;
    pthread_once(&once, prepare);
    lock();
    const unsigned long long times = count(path, text);
    unlock();
    if (times == 1)
        append(path, text, 0);
}

__attribute__((destructor)) static void tell_counts(void)
{
    for (int k = 0; k < line_count; k++) {
        if (lines[k].times > 1)
            append(lines[k].path, lines[k].text, lines[k].times);
    }
}
