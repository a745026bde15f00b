/*
 * Reasons, for a user who asks for them: FACTZ_HDF5_LOG is the path of a file to append to, or `stderr`.
 */
#ifndef FACTZ_HDF5_LOG_H
#define FACTZ_HDF5_LOG_H

void log_line(const char *text);

/*
 * A line that may come for many chunks: it is written the first time. When the process ends normally, it is
 * written once more, with the number of times. May be called from several threads.
 */
void log_repeated(const char *text);

#endif
