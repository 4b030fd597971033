#pragma once

typedef decltype(nullptr) nullptr_t;

#ifndef NULL
#define NULL 0
#endif
#ifndef offsetof
// a constant expression to this compiler, which the usual arithmetic on null is not
#define offsetof(type, member) ((size_t)__INTADDR__(&(((type*)0)->member)))
#endif
