/* SPDX-License-Identifier: MIT */
/*
 * What needs the interpreter's own functions: names of C functions, garbage collections as ops,
 * counts of calls.
 *
 * They are only called where the interpreter allows it: in the main thread, under the GIL, between
 * two bytecodes. A pending call (Py_AddPendingCall()) gets us there. It is asked for once while the
 * interpreter begins, where it sets up its signals, so before the first line of the program; and
 * then from ticks that hit _PyEval_EvalFrameDefault itself, where the thread holds no lock of the
 * runtime.
 *
 *	python_api_look() ── or a tick ──► setup: gc.callbacks, atexit, counts of calls
 *	ticks, each second of CPU time ──► poll: names and counts that are new
 *	atexit, _exit() ─────────────────► the last of them
 *
 * A process that never gets there only loses these.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct agent;
struct lane;
struct python_runtime;

typedef struct py_object_head *py_object; /* PyObject * */
typedef py_object fast_function(py_object self, py_object const *arguments, intptr_t count);

/* PyMethodDef */
struct python_method {
	const char *name;
	void *function;
	int flags;
	const char *doc;
};
#define PYTHON_METHOD_ARGUMENTS    0x01 /* METH_VARARGS */
#define PYTHON_METHOD_NO_ARGUMENTS 0x04 /* METH_NOARGS */
#define PYTHON_METHOD_ONE          0x08 /* METH_O */
#define PYTHON_METHOD_FAST         0x80 /* METH_FASTCALL */
#define PYTHON_METHOD_KEYWORDS     0x02 /* METH_KEYWORDS, with the one above */

/* COUNT ARGUMENTS, then those that have NAMES. */
typedef py_object python_call(py_object function, py_object const *arguments, size_t count,
                              py_object names);

/* Named as CPython names them; all are there, from 3.8 on, but those marked. */
struct python_api {
	int (*Py_AddPendingCall)(int (*function)(void *), void *argument);
	void (*Py_IncRef)(py_object o);
	void (*Py_DecRef)(py_object o);
	void (*PyErr_Clear)(void);
	py_object (*PyImport_ImportModule)(const char *name);
	py_object (*PyImport_GetModuleDict)(void);      /* borrowed */
	py_object (*PySys_GetObject)(const char *name); /* borrowed */
	py_object (*PyObject_GetAttrString)(py_object o, const char *name);
	int (*PyObject_SetAttrString)(py_object o, const char *name, py_object value);
	py_object (*PyObject_CallFunctionObjArgs)(py_object function, ...);
	py_object (*PyCFunction_NewEx)(struct python_method *method, py_object self,
	                               py_object module);
	int (*PyDict_Next)(py_object dict, intptr_t *at, py_object *key,
	                   py_object *value);                               /* borrowed */
	py_object (*PyDict_GetItemString)(py_object dict, const char *key); /* borrowed */
	int (*PyDict_DelItemString)(py_object dict, const char *key);
	intptr_t (*PyDict_Size)(py_object dict);
	py_object (*PyDict_Copy)(py_object dict);
	py_object (*PyModule_GetDict)(py_object module); /* borrowed */
	intptr_t (*PyList_Size)(py_object list);
	py_object (*PyList_GetItem)(py_object list, intptr_t at); /* borrowed */
	int (*PyList_Append)(py_object list, py_object item);
	const char *(*PyUnicode_AsUTF8AndSize)(py_object text, intptr_t *size); /* borrowed */
	long (*PyLong_AsLong)(py_object number);
	py_object (*PyLong_FromLong)(long number);
	int (*PyType_IsSubtype)(py_object type, py_object of);
	int (*Py_IsInitialized)(void);
	// NOLINTNEXTLINE(bugprone-reserved-identifier): named as what is looked up
	char *_Py_NoneStruct, *PyType_Type, *PyBaseObject_Type, *PyModule_Type, *PyDict_Type,
		*PyUnicode_Type, *PyCFunction_Type, *PyMethodDescr_Type, *PyClassMethodDescr_Type,
		*PyWrapperDescr_Type, *PyStaticMethod_Type;
	py_object (*PyUnicode_InternFromString)(const char *text);
	/* NULL where the version has none: */
	py_object (*PyType_GetDict)(py_object type); /* 3.12 */
	intptr_t (*request_code_extra)(void (*free)(void *));
	int (*get_code_extra)(py_object code, intptr_t index, void **extra);
	int (*set_code_extra)(py_object code, intptr_t index, void *extra);
	void (*PyEval_SetProfile)(int (*function)(py_object, py_object, int, py_object),
	                          py_object argument);
	py_object (*PyFrame_GetCode)(py_object frame); /* 3.9 */
	char *PyCMethod_Type;                          /* 3.9 */
	/* What asyncio's tasks take (python_await.h): all of them, or it is left alone. */
	py_object (*PyObject_GetAttr)(py_object o, py_object name);
	py_object (*PyDescr_NewMethod)(py_object type, struct python_method *method);
	/* Of functions of Python's. */
	python_call *vectorcall;
	int (*PyFrame_GetLineNumber)(py_object frame);
	double (*PyFloat_AsDouble)(py_object number);
	py_object (*PySequence_List)(py_object sequence);
	intptr_t (*PyObject_Size)(py_object o);
	void (*PyErr_Fetch)(py_object *type, py_object *value, py_object *traceback);
	void (*PyErr_Restore)(py_object type, py_object value, py_object traceback);
	char *PyFunction_Type, *PyMethod_Type, *PyCoro_Type, *PyGen_Type;
	/* And on loops in C (await_foreign.h). */
	python_call *PyObject_Vectorcall; /* 3.11; before that there is no such function */
	py_object (*PyMethod_New)(py_object function, py_object self);
	py_object (*PyDescr_NewClassMethod)(py_object type, struct python_method *method);
	py_object (*PyTuple_Pack)(intptr_t count, ...);
	py_object (*PyTuple_GetItem)(py_object tuple, intptr_t at); /* borrowed */
	py_object (*PyFloat_FromDouble)(double number);
	char *PySuper_Type;
	/* And greenlets (await_gevent.h). */
	py_object (*PyEval_GetFrame)(void); /* borrowed */
	void *(*PyCapsule_GetPointer)(py_object capsule, const char *name);
	py_object (*PyObject_Call)(py_object function, py_object arguments, py_object names);
	int (*PySequence_SetItem)(py_object sequence, intptr_t at, py_object item);
	py_object (*PySequence_Tuple)(py_object sequence);
	// NOLINTNEXTLINE(bugprone-reserved-identifier)
	py_object (*_PyType_Lookup)(py_object type, py_object name); /* borrowed; runs no code */
};

/* Valid in what the interpreter calls of ours. */
extern struct python_api python_api;
extern const struct python_runtime *python_api_runtime;

/* The program has begun. */
void python_api_start(struct agent *a);

/* Asks for the setup, if there is an interpreter that can be asked by now. Not for handlers. */
void python_api_look(void);

/* A tick of LANE's thread, whose CPU clock stands at CPU_NS. For handlers. */
void python_api_tick(const struct lane *lane, const void *context, uint64_t cpu_ns);

/* In a forked child, after agent_fork(). */
void python_api_fork(void);

/* The process ends without the interpreter's leave (_exit()). Keeps errno. */
void python_api_exit(void);

/*
 * Has FUNCTION called as soon as the interpreter allows it, if the calling thread is the main one.
 * False: it will not be. Not for handlers.
 */
bool python_api_ask(int (*function)(void *unused));

/* WORD of what O has behind its head. */
uintptr_t python_api_word(py_object o, unsigned word);
py_object python_api_type(py_object o);

/* The UTF-8 of TEXT, which lives as long; NULL: it is no string, or there is no memory. */
const char *python_api_text(py_object text);

/* The name of TYPE, which lives as long. */
const char *python_api_type_name(py_object type);

/* What C functions are called, as cProfile has it. */
#define PYTHON_NAME_BYTES 256

/* The same of METHOD, which DESCRIPTOR describes. */
void python_api_method_name(char name[PYTHON_NAME_BYTES], py_object descriptor, const char *method);

/* None, as a new reference. */
py_object python_api_none(void);
