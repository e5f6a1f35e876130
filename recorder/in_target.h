/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Included last by every file that runs inside a profiled program: names that must not be used
 * there become compile errors. The recorder does its input and output with syscalls.h, takes memory
 * with arena.h, writes text with text.h, and takes no lock of libc's.
 */
#ifndef WCPROF_IN_TARGET_H
#define WCPROF_IN_TARGET_H

#pragma GCC poison malloc calloc realloc free strdup strndup asprintf posix_memalign aligned_alloc
#pragma GCC poison printf fprintf sprintf snprintf vsnprintf vfprintf perror puts fputs fopen \
	fclose fflush
#pragma GCC poison getenv setenv putenv setlocale strerror strtol strtoul strtoull atoi qsort
#pragma GCC poison pthread_mutex_lock pthread_mutex_unlock pthread_cond_wait pthread_cond_signal \
	pthread_once
#pragma GCC poison sem_wait sem_post dlopen dlsym dlerror dl_iterate_phdr getpid sleep usleep \
	nanosleep
#pragma GCC poison mmap munmap mremap openat creat pread pwrite readv writev fork vfork sigaction \
	signal clock_gettime

#endif
