/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where CPython 3.11 keeps what python.c reads, in bytes from the beginning of a structure.
 *
 * The same in all releases of 3.11 for x86-64 (seen in 3.11.2 and 3.11.7). Of other versions these
 * are not true.
 */
#ifndef WCPROF_PYTHON_LAYOUT_H
#define WCPROF_PYTHON_LAYOUT_H

/* Py_Version: the version in the upper two bytes, and a final release in the lowest. */
#define PYTHON_VERSION      UINT32_C(0x030b00f0)
#define PYTHON_VERSION_MASK UINT32_C(0xffff00f0)

enum {
	/* _PyRuntime */
	PYTHON_RUNTIME_ENDS = 24,   /* not 0: it ends, and takes threads' states away */
	PYTHON_RUNTIME_THREAD = 80, /* pthread_t of the thread that started it */
	PYTHON_RUNTIME_KEY = 592,   /* of threads' states: is it there, and which */
	/* PyThreadState */
	PYTHON_STATE_ENTRY = 56, /* the innermost entry to the interpreter */
	PYTHON_STATE_THREAD = 152,
	PYTHON_STATE_CHUNK = 296, /* of the memory in which calls have their frames */
	PYTHON_STATE_TOP = 304,   /* where that is not in use any more */
	PYTHON_STATE_BYTES = 312,
	/* _PyStackChunk */
	PYTHON_CHUNK_BYTES = 8,
	/* _PyCFrame: an entry */
	PYTHON_ENTRY_FRAME = 8,
	PYTHON_ENTRY_OUTER = 16,
	PYTHON_ENTRY_BYTES = 24,
	/* _PyInterpreterFrame */
	PYTHON_FRAME_CODE = 32,
	PYTHON_FRAME_CALLER = 48,
	PYTHON_FRAME_INSTRUCTION = 56,
	PYTHON_FRAME_OPERANDS = 64, /* how many are on its stack; -1 while it runs */
	PYTHON_FRAME_IS_FIRST = 68, /* the entry began with it */
	PYTHON_FRAME_BYTES = 72,
	/* PyObject, PyTypeObject: the size of such an object without what varies */
	PYTHON_OBJECT_TYPE = 8,
	PYTHON_TYPE_SIZE = 32,
	/* PyCodeObject */
	PYTHON_CODE_LINE = 72, /* the first */
	PYTHON_CODE_FILE = 112,
	PYTHON_CODE_NAME = 128, /* with the classes and functions that it is in */
	PYTHON_CODE_LINES = 136,
	PYTHON_CODE_INSTRUCTIONS = 184,
	PYTHON_INSTRUCTION_BYTES = 2,
	/* PyBytesObject */
	PYTHON_BYTES_SIZE = 16,
	PYTHON_BYTES_DATA = 32,
	/* PyASCIIObject, PyCompactUnicodeObject: where the characters begin */
	PYTHON_TEXT_LENGTH = 16,
	PYTHON_TEXT_HASH = 24,
	PYTHON_TEXT_STATE = 32,
	PYTHON_TEXT_UNIT_SHIFT = 2, /* of 3 bits of the state: bytes a character */
	PYTHON_TEXT_IS_COMPACT = 1 << 5,
	PYTHON_TEXT_IS_ASCII = 1 << 6,
	PYTHON_TEXT_ASCII = 48,
	PYTHON_TEXT_OTHER = 72
};

/* Forms of a stretch in the table of lines. Below the first, the line is as before, and one byte
 * follows; below the second, it is so many further, and two do. */
enum {
	PYTHON_LINES_STEPS = 10,
	PYTHON_LINES_NO_COLUMNS = 13,
	PYTHON_LINES_LONG = 14,
	PYTHON_LINES_NONE = 15
};

#endif
