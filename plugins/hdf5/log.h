/*
 * Reasons, for a user who asks for them: FACTZ_HDF5_LOG is the path of a file to append to, or `stderr`.
 */
#ifndef FACTZ_HDF5_LOG_H
#define FACTZ_HDF5_LOG_H

void log_line(const char *text);

#endif
