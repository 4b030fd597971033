// What CUDA C++ has without an include, for clang, which knows the language but brings no library.
// NVIDIA's own headers are not made for macOS; this is written afresh from their documentation.
#pragma once
#include "course_language.h"
#include "course_vectors.h"
#include "course_threads.h"
#include "course_integers.h"
#include "course_atomics.h"
#include "course_math.h"
#include <math.h>
#include <stdint.h>
